import type { UsageError } from '../../base/errors.ts'

/** The part of the input that is wrong. */
export type About = 'plugins' | 'urlAllowlist' | 'urlDenylist' | 'settings' | 'persona'

/** Is told what is wrong with the input; may throw it or collect it. */
export type Refuse = (why: UsageError, about: About) => void

/** Throws the problem. */
export function thrown(why: UsageError): never {
  throw why
}
