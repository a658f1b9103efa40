import type { Bell } from '../base/abort.ts'
import type { Log } from '../base/log.ts'
import type { Stop } from '../base/stop.ts'
import type { Home } from '../db/home.ts'
import { identityIn, isRunner, type LiveRow } from '../db/processes.ts'
import { hasSuccessor, type Place } from '../db/runners.ts'
import type { ProcessType } from '../db/tables.ts'
import { livenessOf } from '../processes/identity.ts'
import { presenceOf, presentRows } from '../processes/presence.ts'
import { holdOffToRespect, type LeadHoldOff } from './lead-hold-off.ts'
import {
  foregroundRunnerOwner,
  liveRunnerProcesses,
  newestLiveProcess,
  runtimeStackComponentLabel,
  runtimeStackOwner,
} from './ownership.ts'
import { Silence } from './silence.ts'

const ROWS_MS = 2_000
const LOOK_MS = 100
/** The same while somebody takes over from us, which is a matter of moments. */
const TAKEOVER_MS = 50
/** How often a database that is away is looked for. */
const AWAY_MS = 500

/** What every wait needs. */
export interface StandbyOptions {
  readonly home: Home
  readonly log: Log
  readonly stop: Stop
  readonly bell: Bell
  /** Called with the reason why we wait, and with null when there is none any more. */
  readonly waitsFor?: (reason: string | null) => void
  /** Called when a query failed; throws what waiting does not mend. */
  readonly away: (error: unknown) => void
}

export interface Resumed {
  /** False: we were told to stop meanwhile. */
  readonly resumed: boolean
  /** The last one that we waited for; undefined when nobody was in the way. */
  readonly previousOwnerPid: number | undefined
  /** Processes in the way that have fallen silent: they still exist, and somebody has to end them. */
  readonly passed: readonly LiveRow[]
}

/**
 * Waits for as long as a process that shows signs of life is in the way, and says so once. The end of a process of this
 * machine is noticed within 0.1 s, however it ended; of another machine within 2 s; one that stands still is passed
 * when its own trust in its lead is over.
 * @param inTheWay all processes that are; the last one is named
 */
async function standbyWhile(
  { home, log, stop, bell, away, waitsFor = () => {} }: StandbyOptions,
  inTheWay: () => Promise<readonly LiveRow[]>,
  { why = sayWho, rowsMs = ROWS_MS }: { readonly why?: (row: LiveRow) => string; readonly rowsMs?: number } = {},
): Promise<Resumed> {
  const silence = new Silence()
  let last: LiveRow | undefined
  let passed: LiveRow[] = []
  while (!stop.drain.aborted) {
    try {
      const rows = await inTheWay()
      passed = rows.filter((row) => silence.hasFallenOn(row))
      const row = rows.findLast((each) => !passed.includes(each))
      if (!row) break
      if (!last) log.info(why(row))
      waitsFor(why(row))
      last = row
      await untilGone(home, row, rowsMs, bell, stop)
    } catch (error) {
      away(error)
      await bell.wait(AWAY_MS, stop.drain)
    }
  }
  if (stop.drain.aborted) return { resumed: false, previousOwnerPid: last?.pid ?? undefined, passed: [] }
  waitsFor(null)
  for (const { pid } of passed)
    log.warn(`pid ${pid} has fallen silent (stopped, or cut off from the database): going before it`)
  if (last && passed.length === 0) log.info(`pid ${last.pid} is out of the way: resuming`)
  return { resumed: true, previousOwnerPid: last?.pid ?? undefined, passed }
}

/** Waits while the leader may keep the lead, because two supervisors fight for it. */
export async function standbyUntilHoldOffIsOver(options: StandbyOptions): Promise<Resumed> {
  let holdOff: LeadHoldOff | undefined
  const why = ({ pid }: LiveRow) =>
    `two supervisors restart runners against each other (superseded ${holdOff?.takeovers} times lately): ` +
    `leaving the lead to pid ${pid} for ${Math.ceil(holdOff?.leftSeconds ?? 0)} s; stop one of the two`
  const inTheWay = async () => {
    holdOff = await holdOffToRespect(options.home)
    return holdOff ? [holdOff.leader] : []
  }
  return await standbyWhile(options, inTheWay, { why })
}

/**
 * Waits until no newer process of this command's type is left: of several servers at one address the newest serves.
 * For the `server` verb, as is the next.
 */
export async function standbyUntilLeaderNeeded(
  options: StandbyOptions,
  commandId: string,
  which: { type: ProcessType; url?: string },
) {
  return await standbyWhile(options, async () => other(await newestLiveProcess(options.home, which), commandId))
}

/** Waits until this command owns the runtime stack. */
export async function standbyUntilRuntimeStackNeeded(options: StandbyOptions, commandId: string): Promise<Resumed> {
  return await standbyWhile(options, async () => other(await runtimeStackOwner(options.home), commandId))
}

/** Waits until this command may have the runner: a newer `add --run` borrows it, and gives it back by ending. */
export async function standbyUntilForegroundRunnerNeeded(options: StandbyOptions, commandId: string): Promise<Resumed> {
  return await standbyWhile(options, async () => other(await foregroundRunnerOwner(options.home), commandId))
}

/** Waits until no other runner is left, nor a newer one that stands by as well. */
export async function standbyUntilRunnerNeeded(options: StandbyOptions, me: Place): Promise<Resumed> {
  return await standbyWhile(options, async () =>
    (await presentRows(options.home)).filter(
      (row) => row.id !== me.id && isRunner(row) && (!row.standby || row.seq > me.seq),
    ),
  )
}

/**
 * Waits until a newer runner leads, or none is left that could: whoever hands over stays until then.
 * @returns whether one leads, or has led and ended in order
 */
export async function standbyUntilNewerLeads(
  options: StandbyOptions,
  me: Place,
): Promise<Resumed & { leads: boolean }> {
  const stop = options.stop.part()
  let leads = false
  const inTheWay = async () => {
    const newer = (await liveRunnerProcesses(options.home)).filter(({ id, seq }) => id !== me.id && seq > me.seq)
    leads = newer.some(({ worker_type }) => worker_type === 'worker_runner')
    leads ||= newer.length === 0 && (await hasSuccessor(options.home, me.id))
    if (!leads) return newer
    stop.requestDrain()
    return []
  }
  const why = ({ pid }: LiveRow) => `leaving as soon as runner pid ${pid} leads`
  return { ...(await standbyWhile({ ...options, stop }, inTheWay, { why, rowsMs: TAKEOVER_MS })), leads }
}

function sayWho(row: LiveRow): string {
  const what = runtimeStackComponentLabel(row)
  return `${row.process_type} pid ${row.pid} has the ${what}: standing by; work resumes here when it ends`
}

function other(row: LiveRow | undefined, id: string): LiveRow[] {
  return row && row.id !== id ? [row] : []
}

/**
 * Returns when the process has ended, maybe just before, which the kernel tells; or when its row is worth another look,
 * as for one that we cannot see.
 */
async function untilGone(home: Home, row: LiveRow, rowsMs: number, bell: Bell, stop: Stop): Promise<void> {
  const identity = identityIn(row)!
  const isSeen = (await presenceOf(home, row)) !== 'unseen'
  const end = performance.now() + rowsMs
  while (performance.now() < end && !stop.drain.aborted) {
    if (isSeen && (await livenessOf(identity)) === 'gone') return
    await bell.wait(Math.min(LOOK_MS, rowsMs), stop.drain)
  }
}
