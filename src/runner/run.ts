import { Bell } from '../base/abort.ts'
import { EXIT } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { heartbeatWhileWaiting, recordContainment } from '../db/processes.ts'
import { isHandoffRequested } from '../db/runners.ts'
import { reconcileSchedules } from '../machines/reconcile-schedules.ts'
import { leaveOnDefects } from './defects.ts'
import { Gate, type Passed } from './gate.ts'
import { HANDOFF_SHARE } from './heartbeat.ts'
import type { RunOptions, WhyEnded } from './options.ts'
import { type Outage, throughOutages } from './outage.ts'
import { Preparation } from './preparation.ts'
import { demote, deregister, type Registered, register } from './registration.ts'
import { Signals } from './signals.ts'
import { type Turn, turnOf, waitForTurn } from './turn.ts'
import { WaitingHeartbeat } from './waiting-heartbeat.ts'

/** What a runner has from its start to its end. */
interface Run extends RunOptions {
  readonly bell: Bell
  readonly signals: Signals
  readonly outage: Outage
  readonly preparation: Preparation
}

/**
 * The one daemon, from start to end: register, wait for our turn, pass the gate, lead, drain, leave.
 * Any number of these may be started; the newest passes the gate, and only when every older one is really gone.
 */
export async function run(options: RunOptions): Promise<WhyEnded> {
  leaveOnDefects(options.log)
  const bell = new Bell()
  const orphanMs = options.parentId === null ? undefined : options.handoffGraceMs * HANDOFF_SHARE
  const signals = new Signals(bell, options.log, options.runForMs, orphanMs)
  const preparation = new Preparation(options)
  let code: number = EXIT.failed
  try {
    const why = await throughOutages(options, signals, (outage) =>
      registered({ ...options, bell, signals, outage, preparation }),
    )
    code = Number(process.exitCode ?? EXIT.ok)
    return why
  } finally {
    await preparation.undo()
    await failpoint('shutdown.containers_gone')
    await deregister(options, code)
  }
}

/** Register, then lead when it is our turn; and again, when the lead was only lent to a newer runner. */
async function registered(run: Run): Promise<WhyEnded | 'lost'> {
  let turn = await turnOf(run)
  const me = await register({ ...run, standby: turn.standby })
  if (!me) return 'superseded'
  await failpoint('gate.registered')
  run.outage.over()
  for (;;) {
    const passed = await passGate(run, me, turn)
    const why = passed.term ? await leadOnce(run, me, passed) : passed.why
    // One that stood still until a newer runner woke it up has lost its lead and was asked for it: the signal was not for us to leave.
    const isLent = why === 'superseded' || (why === 'lost' && (await isHandoffRequested(run.home, me.id)))
    if (!turn.yieldsLead || !isLent) return why
    const back = await demote(run.home, me)
    // What ended that lead has no say in the next.
    if (!run.signals.newRound(back?.handoffSignal ?? true)) return run.signals.stop.force.aborted ? 'forced' : 'drained'
    if (!back) return 'lost'
    turn = { ...turn, waitsForOthers: true }
  }
}

/** Waits for our turn, and passes the gate; a runner that waits for others stands by again while the data dir is held. */
async function passGate(run: Run, me: Registered, turn: Turn): Promise<Exclude<Passed, { why: 'held' }>> {
  const { home, log, signals, preparation } = run
  const heart = new WaitingHeartbeat(run, me, signals.stop)
  const waiting = { ...run, stop: heart.stop, waitsFor: heart.waitsFor.bind(heart), away: heart.away.bind(heart) }
  try {
    if (turn.standby) preparation.begin()
    for (let said = false; ; said = true) {
      const at = await waitForTurn(waiting, me, turn)
      const passed = await new Gate({ ...waiting, onWaiting: () => preparation.begin() }, at).pass()
      if (heart.isLost && !passed.term && !signals.stop.drain.aborted) return { why: 'lost' }
      if (passed.why !== 'held') return passed
      if (!turn.waitsForOthers) throw passed.error
      if (!said) log.warn(`${passed.error.message}: standing by`)
      heart.waitsFor(passed.error.message)
      if (!(await demote(home, me))) return { why: 'lost' }
    }
  } finally {
    heart.end()
  }
}

async function leadOnce(
  run: Run,
  me: Registered,
  { term, lock }: Extract<Passed, { lock: unknown }>,
): Promise<WhyEnded | 'lost'> {
  const { home, log, signals, bell, outage } = run
  // Until the leader's own heart beats: a standby must not take us for one that stands still.
  const endBeating = heartbeatWhileWaiting(home.db, me.id)
  try {
    const { lead, containment } = await run.preparation.done()
    await recordContainment(home.db, me.id, containment)
    const mended = await reconcileSchedules(home.db)
    await failpoint('lead.recovered')
    endBeating()
    if (mended > 0) log.warn(`${mended} crawls and pages had no schedule: they are queued again`)
    return run.maintenanceOnly
      ? 'maintained'
      : await lead({ ...run, containment }, me, term, signals.stop, bell, outage)
  } finally {
    endBeating()
    lock.release()
  }
}
