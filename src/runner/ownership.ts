import type { Home } from '../db/home.ts'
import { isRunner, type LiveRow } from '../db/processes.ts'
import type { ProcessType } from '../db/tables.ts'
import { presentRows } from '../processes/presence.ts'
import { ancestorsAmong } from '../processes/registry/relatives.ts'

// The owner of the runner, and its leader. Several commands may coexist on one data dir: a server, its daemon, an
// `add --run`.

/** Commands that may own the runner: the newest of them does. */
const FOREGROUND_RUNNER_OWNER_TYPES: readonly ProcessType[] = ['server', 'add', 'update']

/** The command that may have the runner: the newest live one. `add --run` borrows it from a server. */
export async function foregroundRunnerOwner(home: Home): Promise<LiveRow | undefined> {
  return (await presentRows(home)).findLast(mayOwn)
}

export async function commandOwnsForegroundRunner(home: Home, commandId: string): Promise<boolean> {
  return (await foregroundRunnerOwner(home))?.id === commandId
}

/**
 * The command that a process works for: itself or its nearest ancestor that may own a runner; undefined for a
 * standalone one.
 */
export async function ownerOf(home: Home, processId: string): Promise<LiveRow | undefined> {
  const rows = await presentRows(home)
  const row = rows.find(({ id }) => id === processId)
  return row && [row, ...(await ancestorsAmong(rows, row))].find(mayOwn)
}

/** Live runners that are not standing by, the oldest first: leading, or at the gate. */
export async function liveRunnerProcesses(home: Home): Promise<LiveRow[]> {
  return (await presentRows(home)).filter((row) => isRunner(row) && !row.standby)
}

/** The live leader, if any. */
export async function healthyOrchestrator(home: Home): Promise<LiveRow | undefined> {
  return (await liveRunnerProcesses(home)).find((row) => row.worker_type === 'worker_runner')
}

function mayOwn({ process_type }: LiveRow): boolean {
  return FOREGROUND_RUNNER_OWNER_TYPES.includes(process_type)
}
