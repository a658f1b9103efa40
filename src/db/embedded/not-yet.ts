import { sleep } from '../../base/abort.ts'

/** The server does not accept connections yet; the only thing to do is wait and try again. */
export class NotYet extends Error {
  override readonly name = 'NotYet'
  /** PostgreSQL's own code for this: cannot_connect_now. */
  readonly code = '57P03'
}

/** Repeats `attempt` after `NotYet`, for as long as the caller is willing to wait. */
export type Wait = <T>(attempt: () => Promise<T>) => Promise<T>

const PATIENCE_MS = 55_000
const PAUSE_MS = 100

/** The default: waits for most of a minute, silently. Throws the last `NotYet`. */
export const defaultWait: Wait = async (attempt) => {
  const begun = performance.now()
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof NotYet) || performance.now() - begun > PATIENCE_MS) throw error
      await sleep(PAUSE_MS)
    }
  }
}
