/** A mechanism that is turned off, and the test that must then fail. */
export interface Mutant {
  readonly name: string
  readonly file: string
  /** Occurs exactly once in the file. */
  readonly find: string
  readonly replacement: string
  readonly test: string
  /** Part of the test's name. */
  readonly only: string
}
