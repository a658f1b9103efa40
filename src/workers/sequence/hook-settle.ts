import { closeSync, existsSync, fstatSync, openSync, readSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { attemptName } from '../../base/attempt-paths.ts'
import { isFull } from '../../base/disk-space.ts'
import { isMachineTrouble, messageOf } from '../../base/errors.ts'
import type { PublishedFiles } from '../../db/tables.ts'
import { isDatabaseAway } from '../../db/trouble.ts'
import { Unreadable } from '../../hooks/copy-tree.ts'
import type { Hook } from '../../hooks/discover.ts'
import type { Exit, HookLogs } from '../../hooks/launch.ts'
import { clean, type HookRecords, type Printed, recordsOf } from '../../hooks/records.ts'
import { describeExit, endedAsAsked } from '../../hooks/terminate.ts'
import { dropStaticfileLog, keepStaticfileLog } from '../../hooks/upstream/staticfile-log.ts'
import type { WorkTree } from '../../hooks/work-tree.ts'
import { busyIn } from '../../machines/busy.ts'
import { FILLED, hasFilledDisk, NoSpace, orFilled } from './full-disk.ts'

/** What ended a hook. `asked`: our SIGTERM at the end of the snapshot, the normal end of a background hook. */
export type EndCause = 'exit' | 'asked' | 'timeout' | 'interrupt'

/** How a hook ended, with what is needed to judge it. */
export interface HookExit extends Printed {
  readonly exit: Exit
  readonly cause: EndCause
  readonly logs: HookLogs
  /** What it said on stderr, if that is to be written to its file. */
  readonly said?: string
  /** What it wrote is on disk. */
  readonly isFlushed?: boolean
}

/** An ended hook that is to be settled. */
export interface EndedHook {
  readonly hook: Pick<Hook, 'plugin' | 'name' | 'timeoutMs' | 'hosted' | 'mustReport'>
  readonly attempt: number
  readonly end: HookExit
  /** No other hook of this plugin is running or still to run in this round. */
  readonly isLast: boolean
  /** It may be tried again when the server was too busy. */
  readonly mayRetry?: boolean
  /** Its files are published already. */
  readonly published?: PublishedFiles | undefined
}

export interface HookVerdict {
  readonly event: 'succeed' | 'empty' | 'skip' | 'fail' | 'delay' | 'interrupt'
  readonly output: string
  readonly json?: unknown
  readonly published?: PublishedFiles
  readonly records: HookRecords
}

/** The exit code by which a hook says that its configuration told it to skip (ArchiveBox's plugin contract). */
export const EXIT_SKIPPED = 10
/** The exit code for a temporary failure (EX_TEMPFAIL of sysexits.h). A record of status `backoff` says the same. */
const EXIT_TEMPORARY = 75

/**
 * Judges ended hooks of different plugins by their exits, records and files, and publishes their files. A hook has
 * `succeeded` only when its files are in place; an exit code of 0 does not override what its own record says.
 * @param move as for `WorkTree.publish`
 * @param hasSpace whether there is enough disk space to begin a page
 * @returns the verdicts, in the order of `ended`
 */
export async function settleHooks(
  tree: WorkTree,
  ended: readonly EndedHook[],
  move = false,
  hasSpace: () => boolean = () => true,
): Promise<HookVerdict[]> {
  const verdicts: HookVerdict[] = []
  for (const one of ended) verdicts.push(await hookVerdict(tree, one, hasSpace))
  // A user's hook that found nothing may have left a file that says so; ours leave none. It does not replace a copy.
  const saysSo = ({ hook, published }: EndedHook) =>
    !hook.hosted && (published !== undefined || !tree.isPublished(hook.plugin))
  const isMade = verdicts.map(
    (verdict, index) =>
      verdict.event === 'succeed' || isServed(verdict) || (verdict.event === 'empty' && saysSo(ended[index]!)),
  )
  const made = ended.filter(({ published }, index) => isMade[index] && !published)
  for (const { hook } of made) dropStaticfileLog(tree, hook.plugin)
  const published = await tree.publish(
    made.map(({ hook }) => hook.plugin),
    move,
    made.flatMap(({ hook, end }) => (end.isFlushed ? [hook.plugin] : [])),
  )
  for (const [index, { hook, attempt, end, isLast, ...one }] of ended.entries()) {
    const verdict = verdicts[index]!
    if (isMade[index]) {
      if (!one.published && !move) keepStaticfileLog(tree, hook.plugin, end, verdict.output)
      const files = one.published ?? (await orFilled(published.get(hook.plugin)!, tree, ended[index]!, hasSpace))
      verdicts[index] = withFiles(verdict, files)
    } else if ((verdict.event === 'fail' || verdict.event === 'delay') && isLast)
      await tree.setAside(hook.plugin, attemptName(hook.plugin, hook.name, attempt))
  }
  return verdicts
}

async function hookVerdict(
  tree: WorkTree,
  { hook, attempt, end, mayRetry }: EndedHook,
  hasSpace: () => boolean,
): Promise<HookVerdict> {
  const { logs, said } = end
  const records = await recordsOf(end).catch(() => NO_RECORDS)
  const judged = judge(end.exit, end.cause, records, said === undefined ? lastLine(logs.stderr) : lastOf(said), hook)
  const verdict = mayRetry ? orLater(judged) : judged
  if (said === undefined) dropIfEmpty(logs.stderr)
  const isOnFull = verdict.event === 'fail' && isFull(tree.root)
  if (isOnFull && !(await hasFilledDisk(tree, { hook, attempt }, hasSpace)))
    // A failure says nothing about the hook then, whatever it reports.
    throw new NoSpace(`${hook.name} failed on a full disk: ${verdict.output}`)
  // The page's folder may have been removed meanwhile.
  if (said && existsSync(dirname(logs.stderr))) writeFileSync(logs.stderr, said, { mode: 0o600 })
  return { ...verdict, ...(isOnFull && { output: FILLED }), records }
}

function withFiles(verdict: HookVerdict, published: PublishedFiles | Error): HookVerdict {
  if (published instanceof Error) {
    // It is not the fault of the files: the page waits for disk space, the machine or the database, or was taken away.
    const isItsOwn = published instanceof Unreadable // The hook made it so.
    if (!isItsOwn && (isMachineTrouble(published) || isDatabaseAway(published))) throw published
    return {
      event: 'fail',
      output: `cannot publish its files: ${messageOf(published)}`,
      records: verdict.records,
    }
  }
  if (verdict.event !== 'succeed') return { ...verdict, published }
  // Without a record, the files decide.
  const any = [published.written, published.standing].some((files) => Object.keys(files).length > 0)
  return { ...verdict, event: verdict.records.result || any ? 'succeed' : 'empty', published }
}

/** A failure whose output is kept all the same, such as the body of an error response. The hook's record tells so. */
const isServed = ({ event, json }: Judgement) =>
  event === 'fail' && typeof (json as { served?: unknown } | null | undefined)?.served === 'string'

/** A hook whose server was too busy runs again: the answer that it got is not the page. */
function orLater(judged: Judgement): Judgement {
  const busy = busyIn(judged.json)
  const isOver = judged.event === 'succeed' || judged.event === 'empty' || judged.event === 'fail'
  return busy && isOver ? { event: 'delay', output: `HTTP ${busy.status}`, json: judged.json } : judged
}

const NO_RECORDS: HookRecords = { result: undefined, snapshots: [], tags: [], binaries: [], rejected: 0 }

type Judgement = Pick<HookVerdict, 'event' | 'output' | 'json'>

function judge(
  exit: Exit,
  cause: EndCause,
  { result }: HookRecords,
  complaint: string,
  { timeoutMs, mustReport }: EndedHook['hook'],
): Judgement {
  if (cause === 'interrupt') return { event: 'interrupt', output: '' }
  if (cause === 'timeout') return { event: 'fail', output: `timed out after ${timeoutMs / 1000} s` }
  if (exit.error) return { event: 'fail', output: exit.error }
  const said = { output: result?.output ?? '', json: result?.json }
  if (exit.code === EXIT_SKIPPED) return { event: 'skip', ...said }
  if (exit.code === EXIT_TEMPORARY || result?.status === 'backoff')
    return { event: 'delay', output: said.output || complaint || 'it failed temporarily' }
  if (cause === 'asked' ? !endedAsAsked(exit) : exit.code !== 0) {
    const end = `it ended with ${describeExit(exit)}`
    // When it was killed, its last line is not the reason.
    const why = exit.signal ? [end, complaint].filter(Boolean).join(': ') : complaint || end
    return { event: 'fail', output: (result?.status === 'failed' && result.output) || why, json: result?.json }
  }
  if (!result && mustReport) return { event: 'fail', output: complaint || 'it ended without an ArchiveResult' }
  switch (result?.status) {
    case 'failed':
      return { event: 'fail', ...said }
    case 'skipped':
      return { event: 'skip', ...said }
    case 'noresults':
      return { event: 'empty', ...said }
    default:
      return { event: 'succeed', ...said }
  }
}

/** The last line of a file that may be huge. */
export function lastLine(file: string): string {
  try {
    const fd = openSync(file, 'r')
    try {
      const tail = Buffer.alloc(4096)
      const length = readSync(fd, tail, 0, tail.length, Math.max(0, fstatSync(fd).size - tail.length))
      return lastOf(tail.toString('utf8', 0, length))
    } finally {
      closeSync(fd)
    }
  } catch {
    return ''
  }
}

function lastOf(text: string): string {
  const said = text.trimEnd()
  return clean(said.slice(said.lastIndexOf('\n') + 1)).slice(0, 500)
}

function dropIfEmpty(file: string): void {
  const known = statSync(file, { throwIfNoEntry: false })
  if (known?.isFile() && known.size === 0) unlinkSync(file) // And no device.
}
