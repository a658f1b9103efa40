import { UsageError, UsageErrors } from './errors.ts'

/** What is wrong with what we were asked for: collected, so that people see all of it at once. */
export class Problems {
  readonly #errors: UsageError[] = []

  get all(): readonly UsageError[] {
    return this.#errors
  }

  add(message: string, hint?: string): void {
    this.#errors.push(new UsageError(message, hint))
  }

  /** What `read` answers; undefined, with the reason kept, where it throws a UsageError. */
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

  /** Throws UsageError when there was anything. */
  refuse(): void {
    if (this.#errors.length > 1) throw new UsageErrors(this.#errors)
    if (this.#errors[0]) throw this.#errors[0]
  }
}
