import { spawnSync } from 'node:child_process'

/** Runs the program in its own PID namespace, as in another container of this machine. */
export const CONTAINER = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']

/** Why that is impossible here; false when it is possible. */
export const noContainers =
  spawnSync(CONTAINER[0]!, [...CONTAINER.slice(1), 'true']).status !== 0 && 'needs unshare --pid (root)'

const BIND = ['unshare', '--mount', 'mount', '--bind', '/tmp', '/tmp']
/** Why nothing can be mounted for a single program; false when it can. */
export const noMounts = spawnSync(BIND[0]!, BIND.slice(1)).status !== 0 && 'needs unshare --mount (root)'
