import { userInfo } from 'node:os'
import { AppError, codeOf, messageOf } from '../../base/errors.ts'

const REASONS: ReadonlyMap<string, readonly [reason: string, hint: string]> = new Map(
  Object.entries({
    ENOSPC: ['the disk is full', 'Free some space, or use another --data-dir.'],
    EDQUOT: ['the disk quota is used up', 'Free some space, or use another --data-dir.'],
    EROFS: ['the file system is read-only', 'Use another --data-dir, or set DATABASE_URL.'],
    EACCES: ['permission denied', 'Run as the user that owns it, or use another --data-dir.'],
    EPERM: ['operation not permitted', 'Run as the user that owns it, or use another --data-dir.'],
    ENOENT: ['it does not exist and cannot be made', 'Use another --data-dir.'],
    EEXIST: ['there is a file in its place', 'Use another --data-dir.'],
    ENOTDIR: ['a part of the path is not a directory', 'Use another --data-dir.'],
  }),
)

/** What PostgreSQL's own programs print for the same errors. */
const PRINTED: [RegExp, string][] = [
  [/No space left on device/, 'ENOSPC'],
  [/Disk quota exceeded/, 'EDQUOT'],
  [/Read-only file system/, 'EROFS'],
  [/Permission denied/, 'EACCES'],
]

/** A file-system error in `dir`, as one line for users that names it; any other error is returned unchanged. */
export function explainDisk(error: unknown, dir: string): unknown {
  if (error instanceof AppError) return error
  const code = codeOf(error)
  const known = code === undefined ? undefined : REASONS.get(code)
  if (known)
    return new AppError(`The database cannot use ${dir}: ${known[0]}${who(code)}`, { hint: known[1], cause: error })
  return code?.startsWith('E')
    ? new AppError(`The database cannot use ${dir}: ${messageOf(error)}`, { cause: error })
    : error
}

/** The output of a PostgreSQL program that failed, as an error that names `dir`. */
export function explainOutput(program: string, output: string, dir: string): AppError {
  const code = PRINTED.find(([text]) => text.test(output))?.[1]
  const known = code === undefined ? undefined : REASONS.get(code)
  if (known)
    return new AppError(`The database cannot use ${dir}: ${known[0]}`, { hint: known[1], cause: new Error(output) })
  const lines = output.split('\n').filter((line) => line.trim() !== '')
  const line = lines.findLast((text) => /error|fatal|panic/i.test(text)) ?? lines.at(-1) ?? 'it printed nothing'
  return new AppError(`${program} failed in ${dir}: ${line.trim()}`, {
    hint: 'Set DATABASE_URL to use a server of your own.',
    cause: new Error(output),
  })
}

function who(code: string | undefined): string {
  if (code !== 'EACCES' && code !== 'EPERM') return ''
  try {
    return ` for ${userInfo().username}`
  } catch {
    return ` for uid ${process.getuid?.()}`
  }
}
