import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { findIds } from '../app/ids.ts'
import { UsageError } from '../base/errors.ts'
import type { Home } from '../db/home.ts'
import { snapshotById } from '../db/snapshots.ts'
import { WORK_KINDS, type WorkKind, type WorkScope } from '../machines/scope.ts'
import { CRAWL, SNAPSHOT } from './records/kinds.ts'

/** The options of `run` about its work. */
export interface WorkOptions {
  readonly crawlId?: string
  readonly snapshotId?: string
  readonly exclude: readonly string[]
  readonly runFor?: string
  readonly concurrency?: string
  readonly livenessFile?: string
  readonly maintenanceOnly?: boolean
}

/** The longest timer of Node, in seconds. */
const LONGEST_RUN = 2_147_483

/** Checks these options, as far as possible without a database. Throws UsageError. */
export function workOptions(verb: WorkOptions, input?: string) {
  if (input !== undefined && input !== '-')
    throw new UsageError(`run takes no argument but -, not "${input}"`, 'archivebox-ts add queues URLs')
  if (input !== undefined && (verb.crawlId !== undefined || verb.snapshotId !== undefined))
    throw new UsageError('with -, the records on stdin choose the work: leave out --crawl-id and --snapshot-id')
  if (input !== undefined && verb.maintenanceOnly)
    throw new UsageError('- works on the records on stdin, --maintenance-only on nothing: leave one of them out')
  if (verb.crawlId !== undefined && verb.snapshotId !== undefined)
    throw new UsageError('--crawl-id and --snapshot-id exclude each other')
  for (const kind of verb.exclude)
    if (!(WORK_KINDS as readonly string[]).includes(kind))
      throw new UsageError(
        `--exclude takes ${WORK_KINDS.join(', ')}, not "${kind}"`,
        'give it several times to exclude several',
      )
  const seconds = verb.runFor === undefined ? undefined : Number(verb.runFor)
  if (seconds !== undefined && !(seconds > 0 && seconds <= LONGEST_RUN))
    throw new UsageError(`--run-for takes seconds, above 0 and up to ${LONGEST_RUN}, not "${verb.runFor}"`)
  return {
    runForMs: seconds === undefined ? undefined : seconds * 1_000,
    concurrency: verb.concurrency === undefined ? undefined : wholeFrom1(verb.concurrency),
    livenessFile: verb.livenessFile === undefined ? undefined : placeForFile(verb.livenessFile),
    maintenanceOnly: verb.maintenanceOnly === true,
  }
}

/** The rows that these options mean. Throws UsageError for an unknown crawl or snapshot. */
export async function scopeOf(home: Home, verb: WorkOptions): Promise<WorkScope> {
  const exclude = verb.exclude as readonly WorkKind[]
  if (verb.crawlId !== undefined) return { exclude, crawlIds: await findIds(home, CRAWL, [verb.crawlId]) }
  if (verb.snapshotId !== undefined) {
    const [id] = await findIds(home, SNAPSHOT, [verb.snapshotId])
    const snapshot = await snapshotById(home.db, id!)
    return { exclude, crawlIds: snapshot ? [snapshot.crawl_id] : [], snapshotIds: [id!] }
  }
  return { exclude }
}

/** `--handoff-grace`. Throws UsageError. */
export function graceMs(text: string): number {
  const seconds = Number(text)
  if (!(seconds >= 1 && seconds <= 3_600))
    throw new UsageError(`--handoff-grace takes seconds from 1 to 3600, not "${text}"`)
  return seconds * 1_000
}

function wholeFrom1(text: string): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < 1 || value > 1_000)
    throw new UsageError(`--concurrency takes a whole number from 1 to 1000, not "${text}"`)
  return value
}

function placeForFile(path: string): string {
  const file = resolve(path)
  if (path === '' || (existsSync(file) && statSync(file).isDirectory()))
    throw new UsageError(`--liveness-file takes the path of a file, not "${path}"`, 'for example: /tmp/alive')
  try {
    accessSync(dirname(file), constants.W_OK | constants.X_OK)
  } catch {
    throw new UsageError(
      `--liveness-file: cannot write in ${dirname(file)}`,
      'create the folder first, or choose another one',
    )
  }
  return file
}
