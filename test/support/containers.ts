import { spawnSync } from 'node:child_process'

/** Runs the program in a PID namespace of its own, as in another container of this machine. */
export const CONTAINER = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']

/** Why that cannot be done here; false when it can. */
export const noContainers =
  spawnSync(CONTAINER[0]!, [...CONTAINER.slice(1), 'true']).status !== 0 && 'needs unshare --pid (root)'

const BIND = ['unshare', '--mount', 'mount', '--bind', '/tmp', '/tmp']
/** Why nothing can be mounted for one program alone; false when it can. */
export const noMounts = spawnSync(BIND[0]!, BIND.slice(1)).status !== 0 && 'needs unshare --mount (root)'
