import type { Bell } from '../base/abort.ts'
import { messageOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Stop } from '../base/stop.ts'
import type { Home } from '../db/home.ts'
import { identityIn, isRunner, type LiveRow } from '../db/processes.ts'
import type { ProcessType } from '../db/tables.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { livenessOf } from '../processes/identity.ts'
import { presentRows } from '../processes/presence.ts'
import { foregroundRunnerOwner, newestLiveProcess, runtimeStackComponentLabel, runtimeStackOwner } from './ownership.ts'
import { type Tenure, tenureToRespect } from './tenure.ts'

const ROWS_MS = 2_000
const LOOK_MS = 100

/** What those who stand by share. */
export interface StandbyOptions {
  readonly home: Home
  readonly log: Log
  readonly stop: Stop
  readonly bell: Bell
}

export interface Resumed {
  /** False: we were told to stop meanwhile. */
  readonly resumed: boolean
  /** The last one that we waited for; undefined when nobody was in the way. */
  readonly previousOwnerPid: number | undefined
}

/**
 * Waits for as long as somebody is in the way, and says so once. A process of this machine that ends is noticed within 0.1 s, whether or not it
 * could still tell anybody; others within 2 s.
 */
export async function standBy(
  { log, stop, bell }: StandbyOptions,
  inTheWay: () => Promise<LiveRow | undefined>,
  why = sayWho,
): Promise<Resumed> {
  let last: LiveRow | undefined
  while (!stop.drain.aborted) {
    const row = await inTheWay().catch((error: unknown) => {
      if (!isDatabaseAway(error)) throw error
      log.debug(`the database is away: ${messageOf(error)}`)
      return last
    })
    if (!row) break
    if (!last) log.info(why(row))
    last = row
    await untilGone(row, bell, stop)
  }
  if (last && !stop.drain.aborted) log.info(`pid ${last.pid} is out of the way: resuming`)
  return { resumed: !stop.drain.aborted, previousOwnerPid: last?.pid ?? undefined }
}

/** Waits while the leader may keep the lead, since two supervisors fight for it. */
export async function standbyUntilTenureIsOver(options: StandbyOptions): Promise<Resumed> {
  let tenure: Tenure | undefined
  const why = ({ pid }: LiveRow) =>
    `two supervisors restart runners against each other (superseded ${tenure?.takeovers} times lately): leaving the lead to pid ${pid} for ${Math.ceil(tenure?.leftSeconds ?? 0)} s; stop one of the two`
  const inTheWay = async () => {
    tenure = await tenureToRespect(options.home)
    return tenure?.leader
  }
  return await standBy(options, inTheWay, why)
}

/** Waits until no newer process of this command's type is left: several servers at one address, of which the newest serves. */
export async function standbyUntilLeaderNeeded(options: StandbyOptions, commandId: string, which: { type: ProcessType; url?: string }) {
  return await standBy(options, async () => other(await newestLiveProcess(options.home, which), commandId))
}

/** Waits until this command owns the runtime stack. */
export async function standbyUntilRuntimeStackNeeded(options: StandbyOptions, commandId: string): Promise<Resumed> {
  return await standBy(options, async () => other(await runtimeStackOwner(options.home), commandId))
}

/** Waits until this command is the one that may have the runner: a newer `add --run` borrows it, and gives it back by ending. */
export async function standbyUntilForegroundRunnerNeeded(options: StandbyOptions, commandId: string): Promise<Resumed> {
  return await standBy(options, async () => other(await foregroundRunnerOwner(options.home), commandId))
}

/** Waits until no runner is left, nor a newer one that stands by, too. */
export async function standbyUntilRunnerNeeded(
  options: StandbyOptions,
  me: { readonly id: string; readonly seq: number },
): Promise<Resumed> {
  return await standBy(options, async () =>
    (await presentRows(options.home)).findLast((row) => row.id !== me.id && isRunner(row) && (!row.standby || row.seq > me.seq)),
  )
}

function sayWho(row: LiveRow): string {
  return `${row.process_type} pid ${row.pid} has the ${runtimeStackComponentLabel(row)}: standing by; work resumes here when it ends`
}

function other(row: LiveRow | undefined, id: string): LiveRow | undefined {
  return row?.id === id ? undefined : row
}

async function untilGone(row: LiveRow, bell: Bell, stop: Stop): Promise<void> {
  const identity = identityIn(row)!
  const end = performance.now() + ROWS_MS
  while (performance.now() < end && !stop.drain.aborted) {
    if ((await livenessOf(identity)) === 'gone') return
    await bell.wait(LOOK_MS, stop.drain)
  }
}
