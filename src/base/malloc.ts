/**
 * For the environment of those processes of ours of which there are many. glibc keeps an arena for each thread, and
 * most of what large messages and V8's compiler have ever taken; so, they share one, and what is freed goes back to the
 * system: 2 to 4 MB less in a worker or host, 8 in the browser's launcher. Other allocators do not read it.
 */
export const RETURNS_MEMORY = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_TRIM_THRESHOLD_: '131072',
  MALLOC_MMAP_THRESHOLD_: '131072',
}
