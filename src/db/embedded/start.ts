import { closeSync, realpathSync, statSync } from 'node:fs'
import { sleep } from '../../base/abort.ts'
import { AppError, codeOf, messageOf } from '../../base/errors.ts'
import { type Account, canReach } from './account.ts'
import { addressOf } from './address.ts'
import type { Binaries } from './binaries.ts'
import { greet } from './client.ts'
import type { Cluster } from './cluster.ts'
import { covers } from './descriptors.ts'
import { isAlive, readPostmaster } from './postmaster.ts'
import { runProgram } from './run.ts'
import { lengthOf, openLog, textSince } from './server-log.ts'
import { writeSettings } from './settings.ts'

/** How long a refusal is tried again: the rest of a killed server may hold its memory for a moment. */
const RETRY_MS = 30_000
/** How long a live server may recover before it takes connections; below the wait of those who queue at the start lock. */
const RECOVERY_MS = 55_000
/** How long a server may take to show itself in postmaster.pid. */
const SIGN_OF_LIFE_MS = 5_000
const POLL_MS = 3

/**
 * Starts the server of an existing cluster and returns when it takes our connections. The caller holds the start lock.
 * A stale postmaster.pid is PostgreSQL's to judge, never ours. Throws AppError with the last lines of the log.
 */
export async function startServer(cluster: Cluster, binaries: Binaries, account: Account | undefined): Promise<void> {
  if (!canReach(cluster.pgdata, account, 5)) {
    throw new AppError(`The database server's user ${account?.name} cannot reach ${cluster.pgdata}`, {
      hint: `Let every user enter the directories above it (chmod o+x), or move the data directory; user ${statSync(cluster.pgdata).uid} owns the cluster.`,
    })
  }
  writeSettings(cluster.pgdata, account)
  const log = openLog(cluster.log)
  try {
    const deadline = performance.now() + RETRY_MS
    for (;;) {
      const from = lengthOf(log)
      // pg_ctl puts the server into a session of its own and ends at once (-W), so that the server is nobody's child.
      const args = ['start', '-W', '-s', '-D', realpathSync(cluster.pgdata), '-p', binaries.postgres]
      await runProgram(binaries.pgCtl, args, account, ['ignore', log, log, ...covers(log)])
      if (await becomesReady(cluster, () => textSince(log, from))) return
      const text = textSince(log, from)
      if (performance.now() > deadline || !/already exists|still in use/.test(text)) throw didNotStart(cluster, text)
      await sleep(200)
    }
  } finally {
    closeSync(log)
  }
}

/** Polls until it takes connections (true) or has ended without (false). Throws AppError when it takes too long, or refuses us. */
async function becomesReady(cluster: Cluster, said: () => string): Promise<boolean> {
  const begun = performance.now()
  let seen = begun
  for (;;) {
    const postmaster = readPostmaster(cluster.pgdata)
    const now = performance.now()
    if (postmaster?.status === 'ready' && (await takesConnections(cluster))) return true
    if (isAlive(postmaster, cluster.pgdata)) seen = now
    else if (/FATAL|PANIC/.test(said()) || now - seen > SIGN_OF_LIFE_MS) return false
    if (now - begun > RECOVERY_MS) throw didNotStart(cluster, said())
    await sleep(POLL_MS)
  }
}

async function takesConnections(cluster: Cluster): Promise<boolean> {
  try {
    await greet(addressOf(cluster.pgdata))
    return true
  } catch (error) {
    // Not there (yet), or busy starting or stopping: the caller looks again.
    if (['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', '57P03', '57P01'].includes(codeOf(error) ?? '')) return false
    throw new AppError(`The database server runs but refuses us: ${messageOf(error)}`, { hint: `Its log is ${cluster.log}`, cause: error })
  }
}

function didNotStart(cluster: Cluster, text: string): AppError {
  const lines = text.trim().split('\n').slice(-8)
  const reason = lines.find((line) => /FATAL|PANIC/.test(line)) ?? lines.at(-1)
  return new AppError(`PostgreSQL did not start: ${reason?.replace(/^.*?(FATAL|PANIC):\s*/, '') || 'it said nothing'}`, {
    hint: [...stillThere(text), `Its log is ${cluster.log}, which ends:`, ...lines].join('\n'),
  })
}

/** PostgreSQL takes a dead process that nobody reaped for a living one. */
function stillThere(text: string): string[] {
  return /already exists/.test(text) ? ['If that process has ended: in a container use --init, which clears away the dead.'] : []
}
