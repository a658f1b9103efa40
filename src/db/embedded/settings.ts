import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { textIn } from '../../base/if-readable.ts'
import { replaceFile } from '../../base/replace-file.ts'
import { type Account, ownName } from './account.ts'
import { PORT, USER } from './address.ts'

const SETTINGS = `# Written by archivebox-ts at every start. For settings of your own use ALTER SYSTEM, which wins.
# Durability (fsync, full_page_writes, synchronous_commit) is left on.
cluster_name = 'archivebox'
listen_addresses = ''
port = ${PORT}
unix_socket_directories = '.'
unix_socket_permissions = 0700
max_connections = 100
# What the system keeps of the files need not be here, too.
shared_buffers = 16MB
min_wal_size = 16MB
max_wal_size = 256MB
autovacuum_naptime = 10s
# A look at a table takes 300 rows for each of these into memory: with 100 of them, 20 MB.
default_statistics_target = 40
jit = off
# What our triggers are written in: each connection would load it.
shared_preload_libraries = 'plpgsql'
max_logical_replication_workers = 0
# Plans that are made while a table is small are kept for seconds: they must walk along indexes.
random_page_cost = 1.1
client_connection_check_interval = 1s
idle_in_transaction_session_timeout = 10s
log_checkpoints = off
timezone = 'UTC'
log_timezone = 'UTC'
lc_messages = 'C'
default_text_search_config = 'pg_catalog.english'
`
/** No processes that read ahead: most data was written recently, and three of them take 3 MB. */
const SETTINGS_18 = `io_method = sync
`

/**
 * Updates the cluster's own files for this version: settings, and who may connect. That is us, whoever created the
 * cluster, and root, identified by the kernel (peer). An OS user without a name cannot be matched this way; then the
 * 0700 directory protects it.
 */
export function writeSettings(pgdata: string, account: Account | undefined, majorVersion: number): void {
  const name = ownName()
  const users = namesIn(textIn(join(pgdata, 'pg_ident.conf'))).add('root')
  if (name !== undefined) users.add(name)
  const auth = name === undefined ? 'trust' : 'peer map=archivebox'
  const settings = majorVersion < 18 ? SETTINGS : SETTINGS + SETTINGS_18
  replace(join(pgdata, 'postgresql.conf'), settings, account)
  replace(
    join(pgdata, 'pg_hba.conf'),
    `# Written by archivebox-ts at every start.\nlocal all ${USER} ${auth}\n`,
    account,
  )
  const lines = [...users].map((user) => `archivebox "${user}" ${USER}\n`)
  replace(join(pgdata, 'pg_ident.conf'), `# Written by archivebox-ts at every start.\n${lines.join('')}`, account)
}

function namesIn(ident: string): Set<string> {
  return new Set([...ident.matchAll(/^archivebox "([^"\n]+)" /gm)].map((match) => match[1]!))
}

/**
 * Replaces a file of the cluster when its text differs. The directory may belong to a less trusted user, who must not
 * be able to guess the name of the temporary file.
 */
function replace(path: string, text: string, owner: Account | undefined): void {
  if (textIn(path) !== text) replaceFile(path, text, { owner, aside: `${path}.${randomUUID()}` })
}
