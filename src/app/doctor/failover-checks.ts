import { many } from '../../base/words.ts'
import { wireSafety } from '../../db/connection-url.ts'
import type { Database } from '../../db/database.ts'
import { replication } from '../../db/server-identity.ts'
import { type Examined, type Finding, green, yellow } from './check.ts'

/** Whether the wire to a database of somebody else is safe. */
export function wire({ databaseUrl }: Examined): Finding {
  const verified = 'add sslmode=verify-full&sslrootcert=FILE to DATABASE_URL'
  switch (databaseUrl === undefined ? 'local' : wireSafety(databaseUrl)) {
    case 'local':
      return green('the database is on this machine')
    case 'plain':
      return yellow('not encrypted: whoever is in between can read and change every row', verified)
    case 'unverified':
      return yellow('encrypted, but whoever is in between can answer as the database: sslmode checks no name', verified)
    case 'verified':
      return green('encrypted, and the server is checked')
  }
}

const WAIT = 'ALTER SYSTEM SET synchronous_standby_names = '
const COMMIT = "ALTER SYSTEM SET synchronous_commit = 'on'"
const AGAIN = 'pages of its last moments are archived again, and what was just added is gone'

/** What is lost when a standby takes over from the database of somebody else. */
export async function failover(_asked: Examined, db: Database): Promise<Finding> {
  const { waitsFor, commit, standbys, synchronous } = await replication(db)
  const seen = many(standbys, 'standby')
  if (commit === 'off') return yellow(`synchronous_commit is off: after a crash ${AGAIN}`, COMMIT)
  if (waitsFor !== '' && commit === 'local')
    return yellow(`asynchronous, as synchronous_commit is local: after a failover ${AGAIN}`, COMMIT)
  if (waitsFor !== '') {
    if (synchronous === 0) return yellow(`synchronous, but none of ${waitsFor} is connected: every commit waits for it`)
    const how = commit === 'remote_write' ? ', unless the standby’s machine crashes, too' : ''
    return green(`synchronous (${waitsFor}, synchronous_commit ${commit}): a failover loses nothing${how}`)
  }
  if (standbys > 0) return yellow(`asynchronous, ${seen}: after a failover ${AGAIN}`, `${WAIT}'ANY 1 (*)'`)
  return green('no standby is seen: what a failover keeps, if there is one, its operator knows')
}
