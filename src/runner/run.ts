import { Bell } from '../base/abort.ts'
import { EXIT } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { Stop } from '../base/stop.ts'
import { passGate } from './gate.ts'
import { lead } from './lead.ts'
import type { RunOptions, WhyEnded } from './options.ts'
import { deregister, register } from './registration.ts'
import { followSignals } from './signals.ts'

/**
 * The one daemon, from start to end: register, pass the gate, lead, drain, leave.
 * Any number of these may be started; the newest passes the gate, and only when every older one is really gone.
 */
export async function run(options: RunOptions): Promise<WhyEnded> {
  const stop = new Stop()
  const bell = new Bell()
  followSignals(stop, bell, options.log)
  const me = await register(options)
  let code: number = EXIT.failed
  try {
    await failpoint('gate.registered')
    const passed = await passGate(options, me, stop, bell)
    const why = passed.term ? await lead(options, me, passed.term, stop, bell) : passed.why
    code = Number(process.exitCode ?? EXIT.ok)
    return why
  } finally {
    await deregister(options.home, me, code)
  }
}
