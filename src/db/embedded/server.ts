import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { AppError } from '../../base/errors.ts'
import { FileLock } from '../../base/file-lock.ts'
import type { TellDatabase } from '../events.ts'
import { addressOf, type ServerAddress } from './address.ts'
import { type Cluster, clusterOf, majorVersionOf } from './cluster.ts'
import { explainDisk } from './disk-errors.ts'
import { defaultWait, NotYet, type Wait } from './not-yet.ts'
import { isAlive, isUnderWay, readPostmaster, servingAddress } from './postmaster.ts'
import type { Clients } from './users.ts'

export { type ServerAddress, urlOf } from './address.ts'

/**
 * One process's use of the server. Leave it after the last connection was closed; a second `leave()` answers like the
 * first.
 */
export interface ServerLease {
  readonly address: ServerAddress
  readonly how: 'adopted' | 'started' | 'initialised'
  leave(): Promise<{ stopped: boolean }>
}

export interface EnterOptions {
  /** Is told events that users may want to know. */
  readonly tell?: TellDatabase
  /** How to wait for a server that is being started or stopped, or recovers; by default most of a minute. */
  readonly wait?: Wait
}

/** How long one attempt to take our share waits for a process that is stopping the server. */
const LINE_MS = 1_000

/**
 * Makes the server of this data directory run (initialises it if absent), and keeps it up until `leave()` or our death.
 * Throws AppError, and `NotYet` when nobody waits any longer; a server that nobody else waits for is stopped then.
 */
export async function enterServer(
  dataDir: string,
  { tell = () => undefined, wait = defaultWait }: EnterOptions = {},
): Promise<ServerLease> {
  try {
    mkdirSync(dataDir, { recursive: true })
    const cluster = clusterOf(dataDir)
    const users = new FileLock(cluster.usersLock)
    try {
      // Our share first: from here on nobody stops a server that we are about to adopt.
      await wait(async () => {
        if (!(await users.sharedWithin(LINE_MS))) throw new NotYet('another process stops or copies it')
      })
      const how = await raise(cluster, tell, wait)
      return lease(cluster, users, addressOf(cluster.pgdata), how)
    } catch (error) {
      // It may be starting for us only.
      if (await isUnderWay(cluster).catch(() => false)) await leave(cluster, users, LINE_MS).catch(() => undefined)
      users.release()
      throw error
    }
  } catch (error) {
    throw explainDisk(error, resolve(dataDir))
  }
}

/** Starts the server if it is not running, and waits until it accepts connections. */
async function raise(cluster: Cluster, tell: TellDatabase, wait: Wait): Promise<ServerLease['how']> {
  let how: ServerLease['how'] = 'adopted'
  await wait(async () => {
    if (await servingAddress(cluster)) return
    const { bringUp } = await import('./bring-up.ts')
    const step = await bringUp(cluster, tell)
    if (step.how !== 'adopted') how = how === 'initialised' ? how : step.how
    if (step.missing !== undefined) throw new NotYet(step.missing)
  })
  return how
}

/**
 * Where the server of this data directory most likely runs at this moment; undefined: it does not seem to. Nothing
 * keeps it up yet.
 */
export function likelyAddress(dataDir: string): ServerAddress | undefined {
  const { pgdata } = clusterOf(dataDir)
  const postmaster = readPostmaster(pgdata)
  return postmaster?.status === 'ready' && isAlive(postmaster, pgdata) ? addressOf(pgdata) : undefined
}

/** What is known about the server of this data directory; changes nothing. Throws AppError when it may not look. */
export async function serverStatus(dataDir: string): Promise<{
  state: 'absent' | 'stopped' | 'running'
  pid: number | null
  majorVersion: number | null
  pgdata: string
  log: string
  address: ServerAddress | null
}> {
  const cluster = clusterOf(dataDir)
  const { pgdata, log } = cluster
  try {
    const majorVersion = majorVersionOf(cluster)
    if (majorVersion === null) return { state: 'absent', pid: null, majorVersion, pgdata, log, address: null }
    const postmaster = readPostmaster(pgdata)
    const running = isAlive(postmaster, pgdata) || (await servingAddress(cluster)) !== null
    if (!postmaster || !running) return { state: 'stopped', pid: null, majorVersion, pgdata, log, address: null }
    return { state: 'running', pid: postmaster.pid, majorVersion, pgdata, log, address: addressOf(pgdata) }
  } catch (error) {
    throw explainDisk(error, pgdata)
  }
}

/**
 * Starts the server of a data directory that the caller has entered, if it is not up; false = it was. For a server that
 * was killed, or stopped under its users: they keep their leases, and its address stays the same. Throws AppError, and
 * `NotYet` like `enterServer`.
 */
export async function reviveServer(dataDir: string, wait: Wait = defaultWait): Promise<boolean> {
  return (await raise(clusterOf(dataDir), () => undefined, wait)) !== 'adopted'
}

/**
 * Leaves a server that was used without a share: that of another process, which may have left it since.
 * @param waitMs how long to wait for a process that starts or stops it; by default a minute
 */
export async function leaveServer(dataDir: string, waitMs?: number): Promise<void> {
  const cluster = clusterOf(dataDir)
  await leave(cluster, new FileLock(cluster.usersLock), waitMs)
}

/** From now on the last one out leaves the server running, until `stopServer`. */
export function keepServer(dataDir: string): void {
  writeFileSync(clusterOf(dataDir).keepMark, '')
}

/**
 * Stops the server (fast shutdown); false = it was not running. Unless `force`, refuses with an AppError that tells how
 * many use it (a lease of this very process counts too).
 */
export async function stopServer(dataDir: string, options: { force?: boolean } = {}): Promise<boolean> {
  if ((await serverStatus(dataDir)).state !== 'running') return false
  const cluster = clusterOf(dataDir)
  return alone(cluster, new FileLock(cluster.usersLock), async (users) => {
    if ((await serverStatus(dataDir)).state !== 'running') return false
    const { clientsOf, inUse } = await import('./users.ts')
    const clients = options.force ? 'none' : await clientsOf(cluster, users)
    if (clients === 'some') throw await inUse(cluster, 'Stop them first, or use --force to cut them off.')
    rmSync(cluster.keepMark, { force: true })
    if (await stopIfOurs(cluster, clients)) return true
    throw new AppError(`The database of ${cluster.dataDir} runs where this process cannot see it`, {
      hint: 'Stop it from the container that started it.',
    })
  })
}

function lease(cluster: Cluster, users: FileLock, address: ServerAddress, how: ServerLease['how']): ServerLease {
  let left: Promise<{ stopped: boolean }> | undefined
  return { address, how, leave: () => (left ??= leave(cluster, users)) }
}

/** Releases our share; the last user stops the server. */
async function leave(cluster: Cluster, users: FileLock, waitMs?: number): Promise<{ stopped: boolean }> {
  // A server that stays can be left without being the only user.
  if (existsSync(cluster.keepMark)) {
    users.release()
    return { stopped: false }
  }
  return await alone(
    cluster,
    users,
    async () => {
      if (existsSync(cluster.keepMark)) return { stopped: false }
      const { clientsOf } = await import('./users.ts')
      const clients = await clientsOf(cluster, users)
      return { stopped: clients !== 'some' && (await stopIfOurs(cluster, clients)) }
    },
    waitMs,
  )
}

/** Runs `work` while no other process initialises, starts or stops the server; releases both locks after it. */
async function alone<T>(
  cluster: Cluster,
  users: FileLock,
  work: (users: FileLock) => Promise<T>,
  waitMs?: number,
): Promise<T> {
  let lock: FileLock | undefined
  try {
    lock = new FileLock(cluster.startLock)
    await lock.exclusive(waitMs)
    return await work(users)
  } catch (error) {
    throw explainDisk(error, cluster.dataDir)
  } finally {
    // The share is released before the start lock, so that the next process to leave sees the truth.
    users.release()
    lock?.release()
  }
}

async function stopIfOurs(cluster: Cluster, clients: Exclude<Clients, 'some'>): Promise<boolean> {
  // If it is shared with another container, its pid means nothing here, and a signal would hit another process.
  if (!isAlive(readPostmaster(cluster.pgdata), cluster.pgdata)) return false
  const { shutDown } = await import('./stop.ts')
  await shutDown(cluster, clients === 'none' ? 'fast' : 'immediate')
  return true
}
