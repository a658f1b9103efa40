import { Bell } from '../base/abort.ts'
import type { Log } from '../base/log.ts'
import { Stop } from '../base/stop.ts'
import type { Home } from '../db/home.ts'
import type { HookSettings } from '../hooks/discover.ts'
import { passGate } from './gate.ts'
import { lead } from './lead.ts'
import { deregister, register } from './registration.ts'
import { followSignals } from './signals.ts'

export interface RunOptions {
  readonly home: Home
  readonly log: Log
  readonly settings: HookSettings
  /** The process that started us, when it is one of ours. */
  readonly parentId: string | null
  /** Leave when nothing is due, running or scheduled in the next moments. */
  readonly exitOnIdle: boolean
  /** Work on this crawl only. */
  readonly crawlId: string | undefined
}

/** Why a runner left. All of them are fine: exit code 0, but for `forced`. */
export type WhyEnded = 'idle' | 'drained' | 'superseded' | 'forced'

/**
 * The one daemon, from start to end: register, pass the gate, lead, drain, leave.
 * Any number of these may be started; the newest passes the gate, and only when every older one is really gone.
 */
export async function run(options: RunOptions): Promise<WhyEnded> {
  const stop = new Stop()
  const bell = new Bell()
  const unfollow = followSignals(stop, bell, options.log)
  const me = await register(options)
  try {
    const passed = await passGate(options, me, stop, bell)
    if (!passed.term) return passed.why
    return await lead(options, me, passed.term, stop, bell)
  } finally {
    await deregister(options.home, me)
    unfollow()
  }
}
