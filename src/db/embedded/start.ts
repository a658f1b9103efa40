import { closeSync, realpathSync, statSync } from 'node:fs'
import { sleep } from '../../base/abort.ts'
import { AppError, codeOf, messageOf } from '../../base/errors.ts'
import { type Account, canReach } from './account.ts'
import { addressOf } from './address.ts'
import type { Binaries } from './binaries.ts'
import { greet } from './client.ts'
import type { Cluster } from './cluster.ts'
import { covers } from './descriptors.ts'
import { isAlive, readPostmaster, whatItDoes } from './postmaster.ts'
import { runProgram } from './run.ts'
import { lengthOf, openLog, textSince } from './server-log.ts'
import { writeSettings } from './settings.ts'

/** How long a start is awaited here; one that takes longer has something to recover. */
const ON_THE_SPOT_MS = 1_000
/** How long a server may take to show itself in postmaster.pid. */
const SIGN_OF_LIFE_MS = 5_000
/** How long one that was there may be out of sight. */
const OUT_OF_SIGHT_MS = 300
const POLL_MS = 3
const REFUSED_POLL_MS = 100

/**
 * Starts the server of an existing cluster. The caller holds the start lock. Returns nothing when it accepts our
 * connections, else why it does not yet. Only PostgreSQL judges a stale postmaster.pid, never we. Throws AppError with
 * the last lines of the log.
 */
export async function startServer(
  cluster: Cluster,
  binaries: Binaries,
  account: Account | undefined,
): Promise<string | undefined> {
  if (!canReach(cluster.pgdata, account, 5)) {
    throw new AppError(`The database server's user ${account?.name} cannot reach ${cluster.pgdata}`, {
      hint:
        'Let every user enter the directories above it (chmod o+x), or move the data directory; ' +
        `user ${statSync(cluster.pgdata).uid} owns the cluster.`,
    })
  }
  writeSettings(cluster.pgdata, account, binaries.majorVersion)
  const log = openLog(cluster.log)
  try {
    const from = lengthOf(log)
    // pg_ctl puts the server into its own session and ends at once (-W), so that the server is nobody's child.
    const args = ['start', '-W', '-s', '-D', realpathSync(cluster.pgdata), '-p', binaries.postgres]
    await runProgram(binaries.pgCtl, args, account, ['ignore', log, log, ...covers(log)])
    return await becomesReady(cluster, () => textSince(log, from))
  } finally {
    closeSync(log)
  }
}

/**
 * Polls until it accepts connections, has ended, or takes long. Throws AppError when it reports why it cannot, or
 * refuses us.
 */
async function becomesReady(cluster: Cluster, said: () => string): Promise<string | undefined> {
  const begun = performance.now()
  let seen: number | undefined
  for (;;) {
    const postmaster = readPostmaster(cluster.pgdata)
    const now = performance.now()
    const isReady = postmaster?.status === 'ready'
    if (isReady && (await takesConnections(cluster))) return undefined
    if (isAlive(postmaster, cluster.pgdata)) {
      seen = now
      if (postmaster.status && now - begun > ON_THE_SPOT_MS) return whatItDoes(cluster)
    } else {
      const text = said()
      // One that is killed right away may have left a trace only in its log.
      if (/starting PostgreSQL/.test(text)) seen ??= now
      const isGone = seen === undefined ? now - begun > SIGN_OF_LIFE_MS : now - seen > OUT_OF_SIGHT_MS
      if (isGone || fatal(text)) return whyNot(cluster, text, seen !== undefined)
    }
    await sleep(isReady ? REFUSED_POLL_MS : POLL_MS)
  }
}

/**
 * Why a server that was just started has ended, if another start may help. Throws AppError if it would not.
 */
function whyNot(cluster: Cluster, text: string, wasThere: boolean): string {
  // PostgreSQL takes a dead process that nobody has reaped yet for a live one.
  if (/already exists|still in use/.test(text)) return `what is left of a killed server is in the way: ${fatal(text)}`
  if (wasThere && !fatal(text)) return 'it was killed while it started'
  throw didNotStart(cluster, text)
}

async function takesConnections(cluster: Cluster): Promise<boolean> {
  try {
    await greet(addressOf(cluster.pgdata))
    return true
  } catch (error) {
    // Not there (yet), or busy starting or stopping: the caller looks again.
    if (['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', '57P03', '57P01'].includes(codeOf(error) ?? '')) return false
    throw new AppError(`The database server runs but refuses us: ${messageOf(error)}`, {
      hint: `Its log is ${cluster.log}`,
      cause: error,
    })
  }
}

/**
 * Log lines that are also FATAL: a refusal of a client during the start, and the last messages of a killed server's
 * children.
 */
const OF_CLIENTS = /the database system is|terminating|postmaster exit/

/** The line with the reason of its end. */
function fatal(text: string): string | undefined {
  const lines = text.split('\n').filter((line) => /FATAL|PANIC/.test(line) && !OF_CLIENTS.test(line))
  return lines[0]?.replace(/^.*?(FATAL|PANIC):\s*/, '')
}

function didNotStart(cluster: Cluster, text: string): AppError {
  const lines = text.trim().split('\n').slice(-8)
  return new AppError(`PostgreSQL did not start: ${fatal(text) ?? (lines.at(-1) || 'it printed nothing')}`, {
    hint: [`Its log is ${cluster.log}, which ends:`, ...lines].join('\n'),
  })
}
