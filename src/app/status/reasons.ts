import { duration } from '../../base/words.ts'
import { TRUST_MS } from '../../db/heartbeats.ts'
import type { Home } from '../../db/home.ts'
import type { LiveRow } from '../../db/processes.ts'
import { type Unfinished, unfinished } from '../../db/unfinished.ts'
import { openCrawls, type WorkScope } from '../../machines/scope.ts'
import { presenceOf } from '../../processes/presence.ts'
import { readProc } from '../../processes/proc.ts'

/** Work that is due within this time is on its way. */
const SOON_SECONDS = 2
/** A worker needs a second to begin; work that has been due for longer than this, and is not begun, has a reason. */
const LATE_SECONDS = 15

/**
 * Why nothing moves although something is unfinished, in a line with what to do; null: nothing is left, or it moves.
 * @param alive the live processes of the data dir
 * @param isWorking a live process has a page here; another node has something in work
 */
export async function blockedReason(
  home: Home,
  alive: readonly LiveRow[],
  isWorking: { readonly here: boolean; readonly elsewhere: boolean },
): Promise<string | null> {
  const work = await unfinished(home.db)
  if (!work.some) return null
  const leader = alive.find((row) => row.worker_type === 'worker_runner')
  if (!leader) return isWorking.elsewhere ? null : await withoutLeader(home, alive)
  const stuck = await whyStuck(home, leader)
  if (stuck)
    return (
      stuck + (standbysOf(alive).length > 0 ? '; a standby takes over' : ': start another runner, which takes over')
    )
  if (isWorking.here || alive.some((row) => row.process_type === 'hook' && row.crawl_id !== null)) return null
  const isLeaving = leader.status === 'draining'
  // What stops this node is no less true while another works.
  if (!isLeaving && leader.blocked_reason !== null) return leader.blocked_reason
  if (isWorking.elsewhere) return null
  if (isLeaving) return `runner pid ${leader.pid} is exiting: start another one`
  return (await outOfScope(home, leader, work)) ?? waiting(work)
}

async function withoutLeader(home: Home, alive: readonly LiveRow[]): Promise<string> {
  const candidate = alive.findLast((row) => row.worker_type === 'runner_waiting' && !row.standby)
  if (candidate) {
    const stuck = await whyStuck(home, candidate)
    if (stuck) return `nobody leads, and ${stuck}: end it, or start another runner`
    return `nobody leads yet: runner pid ${candidate.pid} is ${candidate.blocked_reason ?? 'about to'}`
  }
  const standby = standbysOf(alive).at(-1)
  if (!standby) return 'no runner: start one with archivebox-ts run'
  const stuck = await whyStuck(home, standby)
  if (stuck) return `nobody leads, and ${stuck}: end it, or start a runner`
  return `nobody leads yet, only standbys are there: pid ${standby.pid} ${standby.blocked_reason ?? 'is about to'}`
}

function standbysOf(alive: readonly LiveRow[]): LiveRow[] {
  return alive.filter((row) => row.worker_type === 'runner_waiting' && row.standby)
}

/** A runner that is alive, but neither works nor reports. */
async function whyStuck(home: Home, row: LiveRow): Promise<string | undefined> {
  if ((await presenceOf(home, row)) === 'there' && row.pid !== null && readProc(row.pid)?.state === 'T')
    return `runner pid ${row.pid} is stopped (kill -CONT ${row.pid} lets it go on)`
  const silent = row.heartbeat_age_s ?? 0
  if (silent <= TRUST_MS / 1_000) return undefined
  return `runner pid ${row.pid} has sent no heartbeat for ${duration(silent)} (stuck, or cut off from the database)`
}

/** Crawls that the runner may not work on. */
async function outOfScope(home: Home, leader: LiveRow, work: Unfinished): Promise<string | undefined> {
  const scope = (leader.scope ?? {}) as WorkScope
  if (work.dueForSeconds === null || (await openCrawls(home, scope, 0)).open > 0) return undefined
  const only = scope.snapshotIds
    ? 'works on one page only'
    : scope.crawlIds
      ? `works on ${nameOf(scope.crawlIds)} only`
      : undefined
  const excluded = (scope.exclude ?? []).map((kind) => `--exclude ${kind}`).join(' ')
  const why = only ?? (excluded === '' ? undefined : `was told to skip the rest (${excluded})`)
  return why && `runner pid ${leader.pid} ${why}: start one with archivebox-ts run, without that`
}

function nameOf(crawlIds: readonly string[]): string {
  return crawlIds.length === 1 ? `crawl ${crawlIds[0]!.slice(-8)}` : `${crawlIds.length} crawls`
}

/** Everything waits: for its time, for a person, or for an unknown reason. */
function waiting({ dueForSeconds, nextInSeconds, someCrawlPaused, somePagePaused }: Unfinished): string | null {
  if (dueForSeconds !== null) {
    const isLate = dueForSeconds > LATE_SECONDS
    return isLate ? `due work has not begun for ${duration(dueForSeconds)}: logs/runner.log may tell why` : null
  }
  if (nextInSeconds !== null)
    return nextInSeconds > SOON_SECONDS
      ? `nothing is due for ${duration(nextInSeconds)}: the rest waits for its next attempt`
      : null
  const paused = someCrawlPaused ? 'crawl' : somePagePaused ? 'snapshot' : undefined
  return paused
    ? `everything left is paused: archivebox-ts ${paused} list --status paused | archivebox-ts ${paused} resume -`
    : null
}
