import { readdirSync, readlinkSync } from 'node:fs'
import { sleep } from '../../base/abort.ts'
import { AppError } from '../../base/errors.ts'
import type { FileLock } from '../../base/file-lock.ts'
import type { ServerAddress } from './address.ts'
import { countClients } from './client.ts'
import type { Cluster } from './cluster.ts'
import { servingAddress } from './postmaster.ts'

/** How long a connection that its client has just closed may still be listed. */
const FAREWELL_MS = 250
const POLL_MS = 5

/**
 * Whether nobody but the caller uses the server: `users` became exclusively ours, and no client is connected.
 * The caller holds the start lock; while it keeps `users`, nobody can come in.
 */
export async function isLastUser(cluster: Cluster, users: FileLock): Promise<boolean> {
  if (!(await users.tryExclusive())) return false
  const address = await servingAddress(cluster)
  return address !== null && (await noClients(address))
}

/** The refusal to stop a server that others use, saying how many they are. */
export async function inUse(cluster: Cluster): Promise<AppError> {
  const processes = holdersOf(cluster.usersLock).length
  const address = await servingAddress(cluster)
  const clients = address === null ? 0 : await countClients(address).catch(() => 0)
  const who = [count(processes, 'other process', 'other processes'), count(clients, 'connection', 'connections')].filter(
    (text) => text !== '',
  )
  return new AppError(`The database of ${cluster.dataDir} is in use by ${who.join(' with ') || 'another process'}`, {
    hint: 'Stop them first, or use --force to cut them off.',
  })
}

async function noClients(address: ServerAddress): Promise<boolean> {
  const deadline = performance.now() + FAREWELL_MS
  for (;;) {
    // A server that cannot even be asked (no connection left) is busy.
    const clients = await countClients(address).catch(() => 1)
    if (clients === 0) return true
    if (performance.now() > deadline) return false
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
  return listed('/proc').filter((pid) => {
    const dir = `/proc/${pid}/fd`
    return /^\d+$/.test(pid) && Number(pid) !== process.pid && listed(dir).some((fd) => linksTo(dir, fd))
  })
}

function listed(dir: string): string[] {
  try {
    return readdirSync(dir)
  } catch {
    return []
  }
}

const count = (n: number, one: string, many: string): string => (n === 0 ? '' : `${n} ${n === 1 ? one : many}`)
