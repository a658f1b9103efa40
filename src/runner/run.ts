import { Bell, untilLate } from '../base/abort.ts'
import { ENVIRONMENT } from '../base/config.ts'
import { EXIT } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { demote, isHandoffRequested, type Place } from '../db/runners.ts'
import { type Candidacy, candidacyOf, whenSuperseded } from './candidacy.ts'
import { exitOnDefects } from './defects.ts'
import type { Unpromoted } from './gate.ts'
import { HANDOFF_SHARE } from './heartbeat.ts'
import type { Ended, Run, RunOptions, Why } from './options.ts'
import { OutageMonitor } from './outage-monitor.ts'
import { register } from './register.ts'
import { FORCED_BOUND_MS, resign } from './resign.ts'
import { ServiceManager } from './service-manager.ts'
import { Signals } from './signals.ts'
import { type Ready, standBy } from './stand-by.ts'
import { throughOutages } from './through-outages.ts'

/** How long a runner that is told to stop before it leads waits for the database. */
const SILENT_MS = 2_000

/**
 * The one daemon, from start to end: register, stand by, lead, resign. Any number of these may be started; the newest
 * passes the gate, and only when every older one is really gone.
 */
export async function run(options: RunOptions): Promise<Ended> {
  exitOnDefects(options.log)
  const bell = new Bell()
  const signals = new Signals(bell, options.log, boundsOf(options))
  const outage = new OutageMonitor(options.home, options.log, ENVIRONMENT)
  // The service of a command that started us is not ours to speak for.
  const manager = new ServiceManager(options.parentId === null ? ENVIRONMENT : {}, options.log)
  const here: Run = { ...options, bell, signals, outage, manager }
  let code: number = EXIT.failed
  try {
    const why = await throughOutages(here, () => registered(here))
    code = Number(process.exitCode ?? EXIT.ok)
    return { why, reason: why === 'drained' || why === 'forced' ? signals.stop.reason : undefined }
  } finally {
    await resign(options, code, signals.stop.force.aborted ? FORCED_BOUND_MS : undefined)
    manager.end()
  }
}

/**
 * Registers, then leads when it is our turn; and again, when a newer runner has only borrowed the lead, or has ended
 * before it led: a runner that hands over stays until the newer one leads.
 */
async function registered(run: Run): Promise<Why> {
  const first = await beforeLeading(run, candidacyOf(run))
  if ('why' in first) return first.why
  const me = await beforeLeading(run, register(run, first.reasons.length > 0))
  if (!me) return 'superseded'
  if ('why' in me) return me.why
  run.outage.over()
  for (let candidacy = first; ; candidacy = whenSuperseded(candidacy)) {
    const stood = await beforeLeading(run, standBy(run, me, candidacy))
    const why = stood.term ? await leadOnce(run, me, stood) : stood.why
    if (why === 'succeeded') return 'superseded'
    if (!(await isTakenFrom(run, candidacy, why))) return why
    const end = await stepAside(run, candidacy)
    if (end) return end
  }
}

/**
 * Waits for a step on the way to the lead; once we are told to stop, not for an unresponsive database: we have no work
 * yet, and the next runner closes our row.
 */
async function beforeLeading<T>(run: Run, step: Promise<T>): Promise<T | Unpromoted> {
  if (await untilLate(step, SILENT_MS, run.signals.stop.drain)) return await step
  run.log.warn('the current step does not end, perhaps for lack of the database: exiting without it')
  return { why: whyStopped(run) }
}

/** One term. The data dir is ours until none of its work runs any more. */
async function leadOnce(run: Run, me: Place, { term, lock, prepared }: Ready): Promise<Why> {
  try {
    const { lead, containment } = await prepared
    run.manager.leads()
    return await lead({ ...run, containment }, me, term)
  } finally {
    run.manager.leadsNoMore()
    lock.release()
  }
}

/**
 * Whether a newer runner has the lead now, or soon. When a stopped leader is woken by a newer one, it finds its lead
 * lost: if it yields its lead, it stands by, instead of registering again to take over.
 */
async function isTakenFrom({ home, id }: Run, { yieldsLead }: Candidacy, why: Why): Promise<boolean> {
  return why === 'superseded' || (why === 'lost' && yieldsLead && (await isHandoffRequested(home, id)))
}

/** Gets out of the way of newer runners. @returns why we end; undefined: we go on, and wait */
async function stepAside(run: Run, { yieldsLead }: Candidacy): Promise<Why | undefined> {
  const demoted = await demote(run.home, run.id, !yieldsLead)
  await failpoint('shutdown.demoted')
  // The cause of this end must not end the next lead.
  if (!run.signals.newRound(demoted?.handoffSignal ?? true)) return whyStopped(run)
  return demoted ? undefined : 'lost'
}

function whyStopped({ signals }: Run): 'forced' | 'drained' {
  return signals.stop.force.aborted ? 'forced' : 'drained'
}

/** When it stops by itself, and how long a stop may take, in ms. */
function boundsOf({ settings, runForMs, parentId, handoffGraceMs, isWatched }: RunOptions) {
  const { STOP_SECONDS } = settings.config
  return {
    runForMs,
    orphanMs: parentId === null ? undefined : handoffGraceMs * HANDOFF_SHARE,
    stopMs: STOP_SECONDS === undefined ? undefined : STOP_SECONDS * 1_000,
    isWatched,
  }
}
