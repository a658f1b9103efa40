/** Exit codes of the program, as the contract names them. */
export const EXIT = { ok: 0, failed: 1, usage: 2, noRunner: 3, partial: 10, defect: 70, interrupted: 130 } as const

/**
 * An expected failure: one line for the person (`message`), what to do about it (`hint`), and the exit code. Any other
 * error is a defect and ends the process with exit code 1 and a place to look.
 */
export class AppError extends Error {
  override readonly name = 'AppError'
  readonly hint: string | undefined
  readonly exitCode: number
  constructor(message: string, options: { hint?: string; exitCode?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.hint = options.hint
    this.exitCode = options.exitCode ?? EXIT.failed
  }
}

/** Bad input or configuration: exit code 2, nothing was written. */
export class UsageError extends AppError {
  constructor(message: string, hint?: string) {
    super(message, hint === undefined ? { exitCode: EXIT.usage } : { hint, exitCode: EXIT.usage })
  }
}

/** Several usage errors at once. */
export class UsageErrors extends UsageError {
  readonly all: readonly UsageError[]
  constructor(all: readonly UsageError[]) {
    super(all.map(({ message }) => message).join('; '))
    this.all = all
  }
}

/** The text of anything that can be thrown, in one line. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return messageOf(error.errors[0])
  const text = error instanceof Error ? error.message || error.name : String(error)
  return text.replace(/\s+/g, ' ').trim()
}

const MACHINE_TROUBLE = new Set(
  // 53...: the database's own disk or memory.
  'ENOSPC EDQUOT EROFS EIO EMFILE ENFILE ENOMEM EAGAIN EACCES EPERM ENOTDIR 53100 53200'.split(' '),
)

/** Node's recursive removal gives such an error an empty code. */
const UNCODED = [
  'Too many open files',
  'No space left on device',
  'Cannot allocate memory',
  'Read-only file system',
  'Input/output error',
].map((text) => `Unknown error: ${text}`)

/** Is the machine at fault (full disk, no descriptors left, no permission) rather than the work at hand? */
export function isMachineTrouble(error: unknown): boolean {
  return MACHINE_TROUBLE.has(codeOf(error) ?? '') || UNCODED.some((text) => messageOf(error).includes(text))
}

/** The `code` of a system or database error (`ENOENT`, `23505`, ...), if it has one. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}
