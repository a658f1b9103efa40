import { readlinkSync } from 'node:fs'
import { sleep } from '../../base/abort.ts'
import { AppError, codeOf, messageOf } from '../../base/errors.ts'
import type { FileLock } from '../../base/file-lock.ts'
import { namesIn } from '../../base/if-readable.ts'
import type { ServerAddress } from './address.ts'
import { countClients } from './client.ts'
import type { Cluster } from './cluster.ts'
import { readPostmaster, servingAddress } from './postmaster.ts'

/** How long a connection that its client has just closed may still be listed. */
const FAREWELL_MS = 250
const POLL_MS = 5

/**
 * Who uses a server besides the caller. `not yet`: nobody can, because it has accepted no connection since it began to
 * recover.
 */
export type Clients = 'none' | 'not yet' | 'some'

/**
 * How a recovering server refuses connections, in the C locale that we give it. One that shuts down may have clients.
 */
const RECOVERS = /starting up|in recovery|not yet accepting|not accepting/

/**
 * Who uses the server besides the caller: it must get `users` exclusively, and no client may be connected. The caller
 * holds the start lock; while it keeps `users`, nobody can come in.
 */
export async function clientsOf(cluster: Cluster, users: FileLock): Promise<Clients> {
  if (!(await users.tryExclusive())) return 'some'
  const address = await servingAddress(cluster)
  if (address !== null) return await connected(address)
  return readPostmaster(cluster.pgdata)?.status === 'starting' ? 'not yet' : 'some'
}

/** The error for a server that others use, with their number. */
export async function inUse(cluster: Cluster, hint = 'stop them first'): Promise<AppError> {
  const processes = holdersOf(cluster.usersLock).length
  const address = await servingAddress(cluster)
  const clients = address === null ? 0 : await countClients(address).catch(() => 0)
  const who = [
    count(processes, 'other process', 'other processes'),
    count(clients, 'connection', 'connections'),
  ].filter((text) => text !== '')
  return new AppError(`The database of ${cluster.dataDir} is in use by ${who.join(' with ') || 'another process'}`, {
    hint,
  })
}

async function connected(address: ServerAddress): Promise<Clients> {
  const deadline = performance.now() + FAREWELL_MS
  for (;;) {
    const clients = await countClients(address).catch((error: unknown) => {
      // A server that refuses the question for another reason (no free connection) is busy.
      return codeOf(error) === '57P03' && RECOVERS.test(messageOf(error)) ? 'not yet' : 1
    })
    if (clients === 'not yet') return clients
    if (clients === 0) return 'none'
    if (performance.now() > deadline) return 'some'
    await sleep(POLL_MS)
  }
}

/** The other processes that have this file open, as far as this user may see them. */
function holdersOf(path: string): string[] {
  const linksTo = (dir: string, name: string) => {
    try {
      return readlinkSync(`${dir}/${name}`) === path
    } catch {
      return false
    }
  }
  return namesIn('/proc').filter((pid) => {
    const dir = `/proc/${pid}/fd`
    return /^\d+$/.test(pid) && Number(pid) !== process.pid && namesIn(dir).some((fd) => linksTo(dir, fd))
  })
}

const count = (n: number, one: string, many: string): string => (n === 0 ? '' : `${n} ${n === 1 ? one : many}`)
