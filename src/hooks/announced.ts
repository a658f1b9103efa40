import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { failpoint } from '../base/failpoint.ts'
import { uuidv7 } from '../base/ids.ts'
import type { Home } from '../db/home.ts'
import type { NewProcess } from '../db/new-process.ts'
import { insertStarting, markEnded } from '../db/processes.ts'
import {
  type Container,
  type Containment,
  closeContainer,
  containerFor,
  familyIn,
  openContainer,
} from '../processes/containment/containment.ts'
import type { Family } from '../processes/family.ts'
import { identityOf, type ProcessIdentity } from '../processes/identity.ts'

/** The worker that starts processes of hooks, and their containment. */
export interface ProcessScope {
  readonly home: Home
  readonly parentId: string
  readonly runnerId: string
  readonly containment: Containment
}

/** A process that has its row and is about to be started. */
export interface Announced {
  readonly id: string
  readonly container: Container
}

/** Writes the row of a process of hooks, before it is spawned. */
export async function announce(
  { home, parentId, runnerId, containment }: ProcessScope,
  about: Omit<NewProcess, 'id' | 'processType' | 'parentId' | 'runnerId' | 'containment' | 'cgroup'>,
): Promise<Announced> {
  const id = uuidv7()
  const container = containerFor(containment, { processId: id, workerId: parentId }, about.cmd)
  const { tier, cgroup } = container
  await insertStarting(home, { ...about, id, processType: 'hook', parentId, runnerId, containment: tier, cgroup })
  return { id, container }
}

/** Starts an announced process. When that throws, closes its row and removes what was prepared for it. */
export async function startAnnounced<T>(
  { db }: Home,
  { id, container }: Announced,
  start: () => Promise<T>,
): Promise<T> {
  try {
    return await start()
  } catch (error) {
    closeContainer(container)
    await markEnded(db, id, null)
    await failpoint('spawn.unstarted_closed')
    throw error
  }
}

/**
 * The identity of a started process, and everything that it may have started. Without a descriptor left to identify it,
 * it runs all the same: its mark tells whose it is.
 * @param pid undefined when it never ran
 */
export async function identified(
  { id, container }: Announced,
  pid: number | undefined,
): Promise<{ readonly identity: ProcessIdentity | null; readonly family: Family }> {
  const identity = pid === undefined ? null : await identityOf(pid).catch(() => null)
  return { identity, family: familyIn(container, id, identity) }
}

/**
 * Starts a command in its container and in its own session, without stdin, with its output in files.
 * @param channel it appends to its files, and has a channel to us
 */
export function spawnToFiles(
  container: Container,
  cwd: string,
  env: NodeJS.ProcessEnv,
  logs: { readonly stdout: string; readonly stderr: string },
  channel = false,
): ChildProcess {
  mkdirSync(dirname(logs.stdout), { recursive: true })
  const stdout = openSync(logs.stdout, channel ? 'a' : 'w', 0o600)
  const stderr = openSync(logs.stderr, channel ? 'a' : 'w', 0o600)
  try {
    openContainer(container)
    const stdio: StdioOptions = ['ignore', stdout, stderr, ...(channel ? ['ipc' as const] : [])]
    return spawn(container.argv[0]!, container.argv.slice(1), { cwd, env, detached: true, stdio })
  } finally {
    closeSync(stdout)
    closeSync(stderr)
  }
}
