import { setTimeout as sleep } from 'node:timers/promises'
import type { RequestContext } from '../request-context.ts'
import { BrowserGone } from './cdp.ts'
import { personaSetup } from './persona.ts'
import { Tab } from './tab.ts'
import { ALONE } from './turns.ts'

/** A crashed browser is back within a moment, on a busy machine as soon as any program starts (start-browser.ts). */
const RESTART_MS = 30_000
const LOOK_MS = 200
/** Callers have no time left by then. */
const TURN_MS = 60_000

/** The caller that opens a tab. */
export interface TabContext extends Pick<RequestContext, 'env' | 'signal' | 'visit'> {
  log(line: string): void
}

/** How to reach a browser. */
export interface Place {
  /** Undefined: nothing starts one any more. */
  endpoint(): string | undefined
  /** Without any other page in it. */
  readonly isAlone?: boolean
  /** For how long others may have exclusive use of it. */
  readonly turnMs?: number
}

/** Waits for a browser that is being restarted, or that others use exclusively. */
export async function openTab(
  context: TabContext,
  { endpoint, isAlone = false, turnMs = TURN_MS }: Place,
): Promise<Tab> {
  const { env, signal } = context
  const setUp = await personaSetup(context)
  const turnUntil = performance.now() + turnMs
  for (let until = performance.now() + RESTART_MS; ; ) {
    try {
      const at = endpoint()
      if (at === undefined) throw new BrowserGone({ isForGood: true })
      return await Tab.open(at + (isAlone ? ALONE : ''), env, setUp, turnUntil - performance.now())
    } catch (error) {
      if (!(error instanceof BrowserGone) || error.isForGood || signal.aborted) throw error
      if (error.wasThere) until = performance.now() + RESTART_MS
      if (performance.now() > Math.min(until, turnUntil)) throw new BrowserGone({ isForGood: true })
      await sleep(LOOK_MS)
    }
  }
}
