import { Bell } from '../base/abort.ts'
import { EXIT } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { demote, isHandoffRequested, type Place } from '../db/runners.ts'
import { candidacyOf } from './candidacy.ts'
import { exitOnDefects } from './defects.ts'
import { HANDOFF_SHARE } from './heartbeat.ts'
import type { Ended, Run, RunOptions, Why } from './options.ts'
import { OutageMonitor } from './outage-monitor.ts'
import { register } from './register.ts'
import { resign } from './resign.ts'
import { Signals } from './signals.ts'
import { type Stood, standBy } from './stand-by.ts'
import { throughOutages } from './through-outages.ts'

/**
 * The one daemon, from start to end: register, stand by, lead, resign. Any number of these may be started; the newest
 * passes the gate, and only when every older one is really gone.
 */
export async function run(options: RunOptions): Promise<Ended> {
  const { home, log, runForMs, parentId, handoffGraceMs, isWatched } = options
  exitOnDefects(log)
  const bell = new Bell()
  const orphanMs = parentId === null ? undefined : handoffGraceMs * HANDOFF_SHARE
  const signals = new Signals(bell, log, { runForMs, orphanMs, isWatched })
  const here: Run = { ...options, bell, signals, outage: new OutageMonitor(home, log) }
  let code: number = EXIT.failed
  try {
    const why = await throughOutages(here, () => registered(here))
    code = Number(process.exitCode ?? EXIT.ok)
    return { why, reason: why === 'drained' || why === 'forced' ? signals.stop.reason : undefined }
  } finally {
    await resign(options, code)
  }
}

/** Registers, then leads when it is our turn; and again, when a newer runner has only borrowed the lead. */
async function registered(run: Run): Promise<Why> {
  const { id, home, signals } = run
  let candidacy = await candidacyOf(run)
  const me = await register(run, candidacy.standby)
  if (!me) return 'superseded'
  run.outage.over()
  for (;;) {
    const stood = await standBy(run, me, candidacy)
    const why = stood.term ? await leadOnce(run, me, stood) : stood.why
    // One that stood still until a newer runner woke it has lost its lead and was asked for it: not for us to leave.
    const isLent = why === 'superseded' || (why === 'lost' && (await isHandoffRequested(home, id)))
    if (!candidacy.yieldsLead || !isLent) return why
    const demoted = await demote(home, id)
    await failpoint('shutdown.demoted')
    // What ended that lead has no say in the next.
    if (!signals.newRound(demoted?.handoffSignal ?? true)) return signals.stop.force.aborted ? 'forced' : 'drained'
    if (!demoted) return 'lost'
    candidacy = { ...candidacy, waitsForOthers: true }
  }
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
