import { AppError, codeOf, EXIT, messageOf, UsageError } from '../base/errors.ts'
import { isNotPostgres } from './client.ts'

/** A name that does not exist, a socket that we may not use: waiting does not fix these. */
const WRONG_PLACE = new Set(['ENOTFOUND', 'EACCES', 'EPERM'])
const UNREACHABLE = new Set(
  'ECONNREFUSED ECONNRESET EPIPE ENOTFOUND EAI_AGAIN ETIMEDOUT EHOSTUNREACH ENETUNREACH'.split(' '),
)
/**
 * SQLSTATEs of a server that cannot work just now: connection lost (08), shutting down or starting (57P), out of
 * something (53), its disk broken (58030), idle in a transaction for too long (25P03), read-only since a failover
 * (25006).
 */
const NOT_SERVING = /^(08|57P|53|58030|25P03|25006)/
/** Messages of `pg` and its pool without a code. */
const DRIVER =
  /Connection terminated|timeout exceeded when trying to connect|not queryable|connection has been discarded/
/**
 * Deadlock, serialization failure, lock timeout, a statement that somebody cancelled: nothing was done, and it may
 * succeed the next time.
 */
const COLLISIONS = new Set(['40P01', '40001', '55P03', '57014'])

/** A certificate that Node does not trust, by its error codes. */
const UNTRUSTED = /SELF_SIGNED|^UNABLE_TO_|^CERT_|^ERR_TLS_CERT/
const NO_TLS = /server does not support SSL/
/** The two sides do not agree on how to encrypt. */
const TLS_FAILED = /^(EPROTO|ERR_SSL_.*)$/

/**
 * Whether the database is away for now (the connection or the whole server), rather than the statement wrong. Then
 * waiting helps.
 */
export function isDatabaseAway(error: unknown): boolean {
  const code = codeOf(error) ?? ''
  // For example a missing socket (ENOENT); a missing file is another matter.
  const connecting = error instanceof Error && 'syscall' in error && error.syscall === 'connect'
  return connecting || UNREACHABLE.has(code) || NOT_SERVING.test(code) || DRIVER.test(messageOf(error))
}

/**
 * Whether a database that refused us may accept us soon. One that starts, recovers, shuts down, restarts, or cannot be
 * reached yet; not one that is read-only, full, or out of connections, nor a wrong address.
 */
export function isComingUp(error: unknown): boolean {
  const code = codeOf(error) ?? ''
  return isDatabaseAway(error) && !isServerTrouble(error) && !WRONG_PLACE.has(code)
}

/** Whether the server answers but cannot work: out of disk, memory or connections, or read-only. */
export function isServerTrouble(error: unknown): boolean {
  return /^(53|58030|25006)/.test(codeOf(error) ?? '')
}

/** Whether another transaction interfered. Then nothing was done, and a repetition may succeed at once. */
export function isCollision(error: unknown): boolean {
  return COLLISIONS.has(codeOf(error) ?? '')
}

/** Whether a unique index refused a row, since another one has what it wants. */
export const isTaken = (error: unknown): boolean => codeOf(error) === '23505'

/** Turns a failed connection into one clear line with what to do; other errors pass unchanged. */
export function explainDatabaseError(error: unknown, url: string): unknown {
  if (error instanceof AppError) return error
  const code = codeOf(error) ?? ''
  const where = maskPassword(url)
  const say = (message: string, hint: string, exitCode: number = EXIT.usage) =>
    new AppError(message, { hint, exitCode, cause: error })
  if (code === '28P01' || code === '28000')
    return say(`the database refused the login: ${messageOf(error)}`, `check user and password in ${where}`)
  if (code === '3D000') return say(`${messageOf(error)} (${where})`, 'create it with: createdb NAME')
  if (code === 'ERR_INVALID_URL') return badUrl(url)
  if (UNTRUSTED.test(code))
    return say(
      `the certificate of the database at ${where} is not trusted: ${messageOf(error)}`,
      'name its CA with sslrootcert=FILE, or ask for none with sslmode=require',
    )
  if (NO_TLS.test(messageOf(error)))
    return say(
      `the database at ${where} does not encrypt`,
      'leave sslmode out of DATABASE_URL, or set ssl = on at the server',
    )
  if (code === '53300')
    return say(
      `the database at ${where} has no free connection: ${messageOf(error)}`,
      'wait, or raise max_connections',
      EXIT.failed,
    )
  if (code === '25006')
    return say(
      `the database at ${where} is read-only: ${messageOf(error)}`,
      'is it a standby? point DATABASE_URL to the primary',
    )
  if (isNotPostgres(error))
    return say(`cannot use the database at ${where}: ${messageOf(error)}`, 'mend host and port in DATABASE_URL')
  if (TLS_FAILED.test(code))
    return say(
      `cannot encrypt the connection to ${where}: ${messageOf(error)}`,
      'mend sslmode and the certificates in DATABASE_URL',
    )
  if (code === 'ENOTFOUND') return say(`there is no host of this name: ${where}`, 'mend the host in DATABASE_URL')
  if (WRONG_PLACE.has(code) && isDatabaseAway(error))
    return say(
      `may not connect to the database at ${where}: ${messageOf(error)}`,
      'mend the permissions, or DATABASE_URL',
    )
  if (isDatabaseAway(error) && !code.startsWith('53'))
    return say(
      `cannot reach the database at ${where}: ${messageOf(error)}`,
      'is the server up, and is DATABASE_URL right?',
      EXIT.failed,
    )
  return error
}

/** The error for a text that is no database URL. */
export function badUrl(url: string): UsageError {
  return new UsageError(
    `not a database URL: ${maskPassword(url)}`,
    'write it as postgres://user:password@host:5432/database',
  )
}

/** A database URL that may be shown: the password replaced by stars. */
export function maskPassword(url: string): string {
  return url.replace(/(:\/\/[^:/@]*):[^@]*@/, '$1:***@').replace(/([?&]password=)[^&]*/g, '$1***')
}
