// What keeps small those processes of ours of which there are many, or that live long: they keep little of what they
// allocate.

/**
 * For Node: a young generation of 1 MB, and one helper thread, since there are as many such processes as cores. In a
 * worker 2 MB saved 1 % of the CPU, and took 1 to 3 MB more.
 */
export const FRUGAL_FLAGS: readonly string[] = [
  '--max-semi-space-size=1',
  '--v8-pool-size=1',
  // Else what V8 needed to compile a function stays until its one helper has compiled all others: 4 to 9 MB in each.
  '--no-maglev-destroy-on-background',
  ...withoutTurboFan(),
]

/**
 * V8's last compiler costs a host more than it ever gives back, since what it makes of a page's tree holds only until
 * the next page: without it 1,500 pages took 4 to 8 % less CPU, 250 pages 10 %, and single large ones a third. Maglev,
 * the compiler before it, is on since Node 24 (V8 13), and without either, code would stay slow.
 */
function withoutTurboFan(): readonly string[] {
  return Number.parseInt(process.versions.v8, 10) >= 13 ? ['--no-turbofan'] : []
}

/**
 * For glibc, in the environment: it keeps an arena for each thread, and most of what large messages and V8's compiler
 * have ever taken. So, threads share one, and what is freed goes back to the system: 2 to 4 MB less in a worker or
 * host, 8 in the browser's launcher. Other allocators do not read it.
 */
export const FRUGAL_ENV = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_TRIM_THRESHOLD_: '131072',
  MALLOC_MMAP_THRESHOLD_: '131072',
}
