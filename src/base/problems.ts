import { UsageError, UsageErrors } from './errors.ts'

/** Problems with the input: collected, so that users see all of them at once. */
export class Problems {
  readonly #errors: UsageError[] = []

  get all(): readonly UsageError[] {
    return this.#errors
  }

  add(message: string, hint?: string): void {
    this.#errors.push(new UsageError(message, hint))
  }

  /** The result of `read`; undefined if it throws a UsageError, which is kept. */
  attempt<T>(read: () => T): T | undefined {
    try {
      return read()
    } catch (error) {
      return this.keep(error)
    }
  }

  /** Keeps a UsageError for later; throws anything else. */
  keep(error: unknown): undefined {
    if (!(error instanceof UsageError)) throw error
    this.#errors.push(error)
  }

  /** Throws UsageError when there was any problem. */
  refuse(): void {
    if (this.#errors.length > 1) throw new UsageErrors(this.#errors)
    if (this.#errors[0]) throw this.#errors[0]
  }
}
