import { spawnSync } from 'node:child_process'

/** Runs the program in a PID namespace of its own, as in another container of this machine. */
export const CONTAINER = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']

/** Why that cannot be done here; false when it can. */
export const noContainers = spawnSync(CONTAINER[0]!, [...CONTAINER.slice(1), 'true']).status !== 0 && 'needs unshare --pid (root)'
