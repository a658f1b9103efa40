import { Bell } from '../base/abort.ts'
import { EXIT } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import type { Stop } from '../base/stop.ts'
import { recordContainment } from '../db/processes.ts'
import { recover } from '../machines/recover.ts'
import { detectContainment, releaseContainment } from '../processes/containment/containment.ts'
import { Gate } from './gate.ts'
import { lead } from './lead.ts'
import type { LeadOptions, RunOptions, WhyEnded } from './options.ts'
import { type Outage, throughOutages } from './outage.ts'
import { ownerOf } from './ownership.ts'
import { deregister, keepSeen, type Registered, register, setStandby, stepBack } from './registration.ts'
import { Signals } from './signals.ts'
import { standbyUntilForegroundRunnerNeeded, standbyUntilRunnerNeeded } from './standby.ts'

/**
 * The one daemon, from start to end: register, stand by, pass the gate, lead, drain, leave.
 * Any number of these may be started; the newest passes the gate, and only when every older one is really gone.
 */
export async function run(options: RunOptions): Promise<WhyEnded> {
  const bell = new Bell()
  const signals = new Signals(bell, options.log)
  const endsAt = performance.now() + (options.runForMs ?? Number.POSITIVE_INFINITY)
  const detection = detectContainment(options.settings['CONTAINMENT'], options.id)
  detection.catch(() => {}) // It is reported below, once our row is there to be closed.
  let code: number = EXIT.failed
  try {
    const why = await throughOutages(options, signals, async (outage) => {
      const owner = await ownerOfDaemon(options)
      const me = await register({ ...options, standby: options.standby || owner !== undefined })
      if (!me) return 'superseded'
      await failpoint('gate.registered')
      outage.over()
      const equipped = { ...options, containment: await detection }
      await recordContainment(options.home.db, me.id, equipped.containment)
      let left = await oneRound(equipped, me, owner?.id, options.standby, drainAt(endsAt, signals.stop, bell), bell, outage)
      // From these a newer runner only borrows the lead.
      while (left === 'superseded' && (options.standby || owner) && (await stepBack(options.home, me)))
        left = await oneRound(equipped, me, owner?.id, true, drainAt(endsAt, signals.newRound(), bell), bell, outage)
      return left
    })
    code = Number(process.exitCode ?? EXIT.ok)
    return why
  } finally {
    await detection.then(releaseContainment, () => {})
    await failpoint('shutdown.containers_gone')
    await deregister(options, code)
  }
}

/**
 * Stand by if we shall, pass the gate, lead.
 * @param ownerId the command whose daemon we are: we lead only while it may have the runner
 * @param patient wait until no other runner is left, instead of taking over
 */
async function oneRound(
  options: LeadOptions,
  me: Registered,
  ownerId: string | undefined,
  patient: boolean,
  stop: Stop,
  bell: Bell,
  outage: Outage,
): Promise<WhyEnded | 'lost'> {
  const { home, log } = options
  const seen = keepSeen(home, me)
  try {
    if (ownerId) await standbyUntilForegroundRunnerNeeded({ home, log, stop, bell }, ownerId)
    if (patient) await standbyUntilRunnerNeeded({ home, log, stop, bell }, me)
    if (ownerId || patient) await setStandby(home, me, false)
    const passed = await new Gate(options, me, stop, bell).pass()
    seen()
    if (!passed.term) return passed.why
    try {
      await mend(options)
      return options.maintenanceOnly ? 'maintained' : await lead(options, me, passed.term, stop, bell, outage)
    } finally {
      passed.lock.release()
    }
  } finally {
    seen()
  }
}

/** The live command that a daemon works for; none for one that stands on its own, or that leaves when its work is done. */
async function ownerOfDaemon({ home, daemon, exitOnIdle, parentId }: RunOptions) {
  return daemon && !exitOnIdle && parentId ? await ownerOf(home, parentId) : undefined
}

async function mend({ home, log }: RunOptions): Promise<void> {
  const mended = await recover(home.db)
  await failpoint('gate.recovered')
  if (mended > 0) log.warn(`${mended} crawls and pages had no schedule: they are queued again`)
}

/** `--run-for`: on the monotonic clock, whatever we are at by then, waiting at the gate included. */
function drainAt(endsAt: number, stop: Stop, bell: Bell): Stop {
  const drain = () => {
    stop.requestDrain()
    bell.wake()
  }
  if (Number.isFinite(endsAt)) setTimeout(drain, Math.max(0, endsAt - performance.now())).unref()
  return stop
}
