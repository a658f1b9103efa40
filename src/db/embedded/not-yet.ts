import { sleep } from '../../base/abort.ts'

/** The server does not take connections yet; to wait and to try again is all that there is to do. */
export class NotYet extends Error {
  override readonly name = 'NotYet'
  /** What PostgreSQL itself would answer: cannot_connect_now. */
  readonly code = '57P03'
}

/** Does `attempt` again for as long as somebody is willing to wait for what `NotYet` says. */
export type Wait = <T>(attempt: () => Promise<T>) => Promise<T>

const PATIENCE_MS = 55_000
const PAUSE_MS = 100

/** How those wait who have said nothing else: for most of a minute, in silence. Throws the last `NotYet`. */
export const patiently: Wait = async (attempt) => {
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
