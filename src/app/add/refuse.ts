import type { UsageError } from '../../base/errors.ts'

/** Which part of what is asked for is wrong. */
export type About = 'plugins' | 'urlAllowlist' | 'urlDenylist' | 'settings' | 'persona'

/** Hears what is wrong with what is asked for; it may throw it, or collect it. */
export type Refuse = (why: UsageError, about: About) => void

/** Throws what is wrong. */
export function thrown(why: UsageError): never {
  throw why
}
