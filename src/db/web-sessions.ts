import { sql } from 'kysely'
import type { Database } from './database.ts'

/** A signed-in browser. @see migrations/0040_server.sql */
export interface WebSessionRow {
  /** SHA-256 of the value of its cookie. */
  readonly hash: Buffer
  readonly expires_at: Date
  /** When it was last seen, within an hour. */
  readonly seen_at: Date
}

/** The valid sessions of a data dir, the latest seen first; at most `most`. */
export async function webSessions(db: Database, dataDirId: string, most: number): Promise<WebSessionRow[]> {
  const { rows } = await sql<WebSessionRow>`
    select hash, expires_at, seen_at from web_session
    where data_dir_id = ${dataDirId} and expires_at > now() order by seen_at desc limit ${most}`.execute(db)
  return rows
}

/** One session of a data dir, if it is valid. */
export async function webSessionOf(db: Database, dataDirId: string, hash: Buffer): Promise<WebSessionRow | undefined> {
  const { rows } = await sql<WebSessionRow>`
    select hash, expires_at, seen_at from web_session
    where hash = ${hash} and data_dir_id = ${dataDirId} and expires_at > now()`.execute(db)
  return rows[0]
}

/** Notes that a session was seen, which makes it last `seconds` from now. */
export async function webSessionSeen(db: Database, hash: Buffer, seconds: number): Promise<void> {
  await sql`
    update web_session set seen_at = now(), expires_at = now() + make_interval(secs => ${seconds})
    where hash = ${hash}`.execute(db)
}

/** Ends a session. */
export async function endWebSession(db: Database, hash: Buffer): Promise<void> {
  await sql`delete from web_session where hash = ${hash}`.execute(db)
}

/** Stores a code that begins one session within `seconds`; removes expired ones. */
export async function keepLoginCode(db: Database, dataDirId: string, hash: Buffer, seconds: number): Promise<void> {
  await sql`delete from login_code where expires_at < now()`.execute(db)
  await sql`
    insert into login_code (hash, data_dir_id, expires_at)
    values (${hash}, ${dataDirId}, now() + make_interval(secs => ${seconds}))`.execute(db)
}

/**
 * Begins a session with a code, which can be used once; removes expired sessions. False: there is no such code.
 * @param session SHA-256 of the value of the cookie
 */
export async function beginWebSession(
  db: Database,
  dataDirId: string,
  { code, session, seconds }: { readonly code: Buffer; readonly session: Buffer; readonly seconds: number },
): Promise<boolean> {
  const { rows } = await sql`
    with used as (
      delete from login_code where hash = ${code} and data_dir_id = ${dataDirId} and expires_at > now() returning hash),
    over as (delete from web_session where data_dir_id = ${dataDirId} and expires_at < now())
    insert into web_session (hash, data_dir_id, expires_at)
    select ${session}, ${dataDirId}::uuid, now() + make_interval(secs => ${seconds}) from used
    returning hash`.execute(db)
  return rows.length > 0
}
