import { existsSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { attemptName, HOSTED_LOG } from '../../base/attempt-paths.ts'
import { CRAWL_WACZ } from '../../base/crawl-wacz.ts'
import { messageOf } from '../../base/errors.ts'
import { failpoint } from '../../base/failpoint.ts'
import { Removal } from '../../base/removal.ts'
import { removeEnds } from '../../base/row-log.ts'
import type { Database } from '../../db/database.ts'
import { type Attempt, type FileJob, lockMoved, lockPlugin, nextFileJobs, noteFileJobs } from '../../db/file-jobs.ts'
import type { Home } from '../../db/home.ts'
import { isThere } from '../../db/is-there.ts'
import { mayPause } from '../../db/may-pause.ts'
import { transact } from '../../db/retry.ts'
import { isDatabaseAway } from '../../db/trouble.ts'
import { WorkTree } from '../../hooks/work-tree.ts'
import { pathsOf } from '../../machines/result-files.ts'
import { writeCrawlPage, writeSnapshotPages } from '../index/index-pages.ts'
import type { WorkerContext } from '../supervise/worker-context.ts'
import { foldersOf } from './folders-of.ts'

/** How soon a leader looks for jobs; without any this is all that it costs: a statement. */
const EVERY_MS = 15_000
/** Jobs per look. */
const BATCH = 100

/**
 * Removes the files of our node that other nodes have asked it to remove: of rows that were deleted there, and of pages
 * that are archived there by now. A job stays until its files are gone, and may be repeated.
 */
export class FileJobs {
  readonly #context: WorkerContext
  #nextAt = Number.NEGATIVE_INFINITY

  constructor(context: WorkerContext) {
    this.#context = context
  }

  async whenDue(): Promise<void> {
    if (performance.now() < this.#nextAt) return
    const { owner, stop } = this.#context
    while (!stop.drain.aborted && (await carryOut(owner.home)));
    this.#nextAt = performance.now() + EVERY_MS
  }
}

/** Carries out the next jobs. @returns whether there may be more */
export async function carryOut(home: Home): Promise<boolean> {
  const jobs = await nextFileJobs(home, BATCH)
  if (jobs.length === 0) return false
  const done: number[] = []
  const waiting = new Map<number, string>()
  for (const job of jobs) {
    const why = await tryJob(home, job)
    if (why === undefined) done.push(job.id)
    else waiting.set(job.id, why)
  }
  await failpoint('reap.files_removed')
  await noteFileJobs(home.db, done, waiting)
  return jobs.length === BATCH
}

/** @returns what it waits for; undefined: it is done */
async function tryJob(home: Home, job: FileJob): Promise<string | undefined> {
  // In its name, so that a repeated job removes what a killed one has moved aside.
  const removal = new Removal(home.dataDir, `file_job.${job.id}`)
  try {
    return await DO[job.what](home, job, removal)
  } catch (error) {
    if (isDatabaseAway(error)) throw error
    return messageOf(error)
  } finally {
    await removal.remove()
  }
}

type Work = (home: Home, job: FileJob, removal: Removal) => Promise<string | undefined>

const DO: Readonly<Record<FileJob['what'], Work>> = {
  page: async (home, { ids, has_writers: hasWriters }, removal) => {
    const folders = await foldersOf(home.dataDir, 'snapshots', ids)
    return await transact(home.db, async (tx) => {
      await mayPause(tx)
      const moved = new Map((await lockMoved(tx, home, ids)).map((page) => [page.id, page]))
      let why: string | undefined
      for (const [id, folder] of folders) {
        const row = moved.get(id)
        if (row?.is_ours) continue
        if (row && !row.is_archived) why = `page ${id} is not archived on another node yet`
        else if (hasWriters && isWrittenTo(home, folder)) why = `page ${id} is still being worked on`
        else removal.moveAside(folder)
      }
      return why
    })
  },

  // The row of a crawl that is still there has lost pages.
  crawl: async (home, { ids, has_writers: hasWriters }, removal) => {
    for (const [id, folder] of await foldersOf(home.dataDir, 'crawls', ids)) {
      if (await isThere(home.db, 'crawl', id)) {
        removal.moveAside(`${folder}/${CRAWL_WACZ}`)
        await writeCrawlPage(home, id)
      } else if (hasWriters && isWrittenTo(home, folder)) return `crawl ${id} is still being worked on`
      else removal.moveAside(folder)
    }
    return undefined
  },

  result: async (home, { ids: [id], detail }, removal) => {
    const folder = (await foldersOf(home.dataDir, 'snapshots', [id!])).get(id!)
    const attempt = attemptIn(detail)
    if (folder === undefined || attempt === undefined) return undefined
    const why = await transact(
      home.db,
      async (tx) => await removeAttempt(tx, home, { id: id!, folder, attempt }, removal),
    )
    if (why === undefined) await writeSnapshotPages(home, id!)
    return why
  },
}

/** Whether a worker has left, or is about to leave, unpublished files there. */
const isWrittenTo = ({ dataDir }: Home, folder: string) => new WorkTree(join(dataDir, folder)).hasLeftovers

interface Part {
  readonly id: string
  readonly folder: string
  readonly attempt: Attempt
}

/** Removes what a result has left, and the files of its plugin that no other result has. */
async function removeAttempt(
  tx: Database,
  home: Home,
  { id, folder, attempt: { plugin, hook, attempt } }: Part,
  removal: Removal,
): Promise<string | undefined> {
  const page = await lockPlugin(tx, home, id, plugin)
  if (!page) return undefined
  if (page.is_claimed) return `page ${id} is being worked on`
  const published = join(home.dataDir, folder, plugin)
  const kept = new Set(page.files)
  const files = existsSync(published) ? readdirSync(published, { withFileTypes: true, recursive: true }) : []
  for (const file of files) {
    const path = join(file.parentPath, file.name).slice(published.length + 1)
    if (!file.isDirectory() && !kept.has(path)) removal.moveAside(`${folder}/${plugin}/${path}`)
  }
  for (const path of pathsOf({ plugin, hook_name: hook, attempt, output_files: {} }))
    removal.moveAside(`${folder}/${path}`)
  removeEnds(join(home.dataDir, folder, HOSTED_LOG), attemptName(plugin, hook, attempt))
  return undefined
}

/** What the job of a result tells, if it names no path. */
function attemptIn(detail: string | null): Attempt | undefined {
  const { plugin, hook, attempt } = JSON.parse(detail ?? '{}') as Partial<Record<keyof Attempt, unknown>>
  return isName(plugin) && isName(hook) && Number.isSafeInteger(attempt)
    ? { plugin, hook, attempt: attempt as number }
    : undefined
}

const isName = (name: unknown): name is string =>
  typeof name === 'string' && /^[^.]/.test(name) && basename(name) === name && !name.includes('\0')
