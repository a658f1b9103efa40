import { Bell, untilLate } from '../base/abort.ts'
import { EXIT } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { demote, isHandoffRequested, type Place } from '../db/runners.ts'
import { candidacyOf } from './candidacy.ts'
import { exitOnDefects } from './defects.ts'
import { HANDOFF_SHARE } from './heartbeat.ts'
import type { Ended, Run, RunOptions, Why } from './options.ts'
import { OutageMonitor } from './outage-monitor.ts'
import { register } from './register.ts'
import { FORCED_BOUND_MS, resign } from './resign.ts'
import { Signals } from './signals.ts'
import { type Stood, standBy } from './stand-by.ts'
import { throughOutages } from './through-outages.ts'

/** How long a runner that is told to stop before it leads waits for the database. */
const SILENT_MS = 2_000

/**
 * The one daemon, from start to end: register, stand by, lead, resign. Any number of these may be started; the newest
 * passes the gate, and only when every older one is really gone.
 */
export async function run(options: RunOptions): Promise<Ended> {
  const { home, log, settings, runForMs, parentId, handoffGraceMs, isWatched } = options
  const { STOP_SECONDS } = settings.config
  exitOnDefects(log)
  const bell = new Bell()
  const orphanMs = parentId === null ? undefined : handoffGraceMs * HANDOFF_SHARE
  const stopMs = STOP_SECONDS === undefined ? undefined : STOP_SECONDS * 1_000
  const signals = new Signals(bell, log, { runForMs, orphanMs, stopMs, isWatched })
  const here: Run = { ...options, bell, signals, outage: new OutageMonitor(home, log) }
  let code: number = EXIT.failed
  try {
    const why = await throughOutages(here, () => registered(here))
    code = Number(process.exitCode ?? EXIT.ok)
    return { why, reason: why === 'drained' || why === 'forced' ? signals.stop.reason : undefined }
  } finally {
    await resign(options, code, signals.stop.force.aborted ? FORCED_BOUND_MS : undefined)
  }
}

/**
 * Registers, then leads when it is our turn; and again, when a newer runner has only borrowed the lead, or has ended
 * before it led: whoever hands over stays until the newer one leads.
 */
async function registered(run: Run): Promise<Why> {
  const { id, home, signals } = run
  const stopped = () => (signals.stop.force.aborted ? 'forced' : 'drained')
  const found = await beforeLeading(run, candidacyOf(run))
  if (found === 'stopped') return stopped()
  let candidacy = found
  const me = await beforeLeading(run, register(run, candidacy.standby))
  if (me === 'stopped') return stopped()
  if (!me) return 'superseded'
  run.outage.over()
  for (;;) {
    const stood = await beforeLeading(run, standBy(run, me, candidacy))
    if (stood === 'stopped') return stopped()
    const why = stood.term ? await leadOnce(run, me, stood) : stood.why
    // One that stood still until a newer runner woke it has lost its lead and was asked for it: not for us to leave.
    const { yieldsLead } = candidacy
    const isLent = why === 'superseded' || (yieldsLead && why === 'lost' && (await isHandoffRequested(home, id)))
    if (!isLent || (!stood.term && stood.isSucceeded)) return why
    const demoted = await demote(home, id, !yieldsLead)
    await failpoint('shutdown.demoted')
    // What ended that lead has no say in the next.
    if (!signals.newRound(demoted?.handoffSignal ?? true)) return stopped()
    if (!demoted) return 'lost'
    candidacy = { ...candidacy, standby: true, waitsFor: yieldsLead ? 'others' : 'newer' }
  }
}

/**
 * Waits for a step on the way to the lead; once we are told to stop, not for a silent database: nothing of us works
 * yet, and the next runner closes our row.
 */
async function beforeLeading<T>({ signals, log }: Run, step: Promise<T>): Promise<T | 'stopped'> {
  const { drain } = signals.stop
  if (await untilLate(step, SILENT_MS, drain)) return await step
  log.warn('what is under way does not end, as when the database is silent: leaving without it')
  return 'stopped'
}

/** One term. The data dir is ours until nothing of it works any more. */
async function leadOnce(run: Run, me: Place, { term, lock, prepared }: Extract<Stood, { lock: unknown }>) {
  try {
    const { lead, containment } = await prepared
    return await lead({ ...run, containment }, me, term)
  } finally {
    lock.release()
  }
}
