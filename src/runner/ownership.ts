import type { Home } from '../db/home.ts'
import { isRunner, type LiveRow } from '../db/processes.ts'
import type { ProcessType } from '../db/tables.ts'
import { presentRows } from '../processes/presence.ts'
import { ancestorsAmong } from '../processes/registry/relatives.ts'

// Which command a part of the running system belongs to. Several may live side by side on one data dir: a server, its
// daemon, an `add --run`.

/** Commands that may own the long-lived stack (server, daemon): a server before a runner that stands on its own. */
export const RUNTIME_STACK_OWNER_TYPES = ['server', 'orchestrator'] as const satisfies readonly ProcessType[]
/** Commands that may own the runner: the newest of them has it. */
export const FOREGROUND_RUNNER_OWNER_TYPES = ['server', 'add', 'update'] as const satisfies readonly ProcessType[]

interface Which {
  readonly type: ProcessType
  /** Only those that serve at this address. */
  readonly url?: string
}

/**
 * Live processes of one type in this data dir, the oldest first. Those that cannot be seen from here count while their
 * heartbeat is fresh.
 */
export async function liveProcesses(home: Home, { type, url }: Which): Promise<LiveRow[]> {
  return (await presentRows(home)).filter((row) => row.process_type === type && (url === undefined || row.url === url))
}

export async function newestLiveProcess(home: Home, which: Which): Promise<LiveRow | undefined> {
  return (await liveProcesses(home, which)).at(-1)
}

/**
 * The row of this very process as a command of this type: what it registered as, or what it was started by.
 * For the `server` verb, as are commandIsNewest and commandOwnsRuntimeStack.
 */
export async function currentCommand(home: Home, processId: string, type: ProcessType): Promise<LiveRow | undefined> {
  return (await lineOf(await presentRows(home), processId)).find((row) => row.process_type === type)
}

export async function commandIsNewest(home: Home, commandId: string, which: Which): Promise<boolean> {
  return (await newestLiveProcess(home, which))?.id === commandId
}

/**
 * The newest server; without one the newest runner that no supervisord started. `add` and `update` never own the stack.
 */
export async function runtimeStackOwner(home: Home): Promise<LiveRow | undefined> {
  const rows = await presentRows(home)
  const server = rows.findLast((row) => row.process_type === RUNTIME_STACK_OWNER_TYPES[0])
  if (server) return server
  for (const row of rows.filter(({ process_type }) => process_type === RUNTIME_STACK_OWNER_TYPES[1]).reverse()) {
    const line = await lineOf(rows, row.id)
    if (!line.some(({ process_type }) => process_type === 'supervisord')) return row
  }
  return undefined
}

export async function commandOwnsRuntimeStack(home: Home, commandId: string): Promise<boolean> {
  return (await runtimeStackOwner(home))?.id === commandId
}

/**
 * The command that may have the runner: the newest live server, add or update. `add --run` borrows it from a server.
 */
export async function foregroundRunnerOwner(home: Home): Promise<LiveRow | undefined> {
  return (await presentRows(home)).findLast((row) =>
    (FOREGROUND_RUNNER_OWNER_TYPES as readonly ProcessType[]).includes(row.process_type),
  )
}

export async function commandOwnsForegroundRunner(home: Home, commandId: string): Promise<boolean> {
  return (await foregroundRunnerOwner(home))?.id === commandId
}

/** What an owner has, for messages: a server has more than its runner. */
export function runtimeStackComponentLabel(owner: Pick<LiveRow, 'process_type'>): string {
  return owner.process_type === 'server' ? 'server and runner' : 'runner'
}

/** Runners that are there and not standing by, the oldest first: leading, or at the gate. */
export async function liveRunnerProcesses(home: Home): Promise<LiveRow[]> {
  return (await presentRows(home)).filter((row) => isRunner(row) && !row.standby)
}

/** The leader, when one is there. */
export async function healthyOrchestrator(home: Home): Promise<LiveRow | undefined> {
  return (await liveRunnerProcesses(home)).find((row) => row.worker_type === 'worker_runner')
}

/**
 * The command that a process works for: itself or its nearest ancestor that may own a runner; undefined for one that
 * stands on its own.
 */
export async function ownerOf(home: Home, processId: string): Promise<LiveRow | undefined> {
  return (await lineOf(await presentRows(home), processId)).find((row) =>
    (FOREGROUND_RUNNER_OWNER_TYPES as readonly ProcessType[]).includes(row.process_type),
  )
}

/** A process and its ancestors, the nearest first. */
async function lineOf(rows: readonly LiveRow[], id: string): Promise<LiveRow[]> {
  const row = rows.find((candidate) => candidate.id === id)
  return row ? [row, ...(await ancestorsAmong(rows, row))] : []
}
