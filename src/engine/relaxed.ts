/**
 * Among what a statement returns: the commit of its transaction need not wait for the disk, since a power cut only
 * gives back what somebody does again. (This affects the whole transaction, if the caller does more in it.)
 *
 * The connection says whether that holds: `-c archivebox.synchronous_commit=off`, which only those to a server of our
 * own have. One that fails over to another server keeps its setting: a claim that the new primary never heard of would
 * be given to a second worker while the first works.
 */
export const RELAXED =
  "set_config('synchronous_commit', coalesce(current_setting('archivebox.synchronous_commit', true), " +
  "current_setting('synchronous_commit')), true)"
