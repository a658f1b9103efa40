import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { sql } from 'kysely'
import pc from 'picocolors'
import { sleep } from '../base/abort.ts'
import { AppError, EXIT } from '../base/errors.ts'
import { asset } from '../base/package-root.ts'
import { type CrawlRow, crawlById } from '../db/crawls.ts'
import type { Home } from '../db/home.ts'
import { crawlRecord } from '../db/records.ts'
import { explainDatabaseError, isDatabaseAway } from '../db/trouble.ts'
import { commandOwnsForegroundRunner, liveRunnerProcesses, ownerOf } from '../runner/ownership.ts'
import { PARENT_ENV } from './commands/run.ts'
import { type OpenHome, runnerLog } from './home.ts'
import type { GlobalOptions } from './options.ts'
import { countPages, countsText } from './progress.ts'
import { printRecord, terminal, wantsJson } from './terminal.ts'

const LOOK_MS = 150
const SOON_MS = 4_000
/** Nothing is put off for so long but what waits for a person: a century. */
const NEVER_MS = 100 * 365 * 86_400_000
/** A database that is away is looked for so often. */
const AWAY_LOOK_MS = 500

/**
 * Follows a crawl until it is sealed, and reports where its pages lie. With `run`, a runner for this crawl is started whenever there is none.
 * Sets the exit code: 10 when some page has no successful result, 130 when a signal ended it before.
 */
export async function follow(
  open: OpenHome,
  options: GlobalOptions,
  crawlId: string,
  by: { processId: string; run: boolean },
): Promise<void> {
  const { home } = open
  const interrupt = new AbortController()
  let runner: ChildProcess | undefined
  const onSignal = (signal: NodeJS.Signals) => {
    // The runner decides what a second and a third one mean; in a terminal it hears them by itself and takes ours for the same.
    runner?.kill(signal)
    interrupt.abort()
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  try {
    const said = new Set<string>()
    let warned = false
    let waiting: string | undefined
    for (;;) {
      try {
        const crawl = await crawlById(home.db, crawlId)
        if (!crawl) throw new AppError(`crawl ${crawlId} was deleted`)
        const begun = performance.now()
        await sayNews(home, crawlId, said)
        if (crawl.status === 'sealed') break
        if (interrupt.signal.aborted && !isAlive(runner)) {
          process.exitCode = EXIT.interrupted
          terminal.live('')
          return terminal.say(`stopped before the end; ${pc.bold('archivebox-ts run')} goes on with crawl ${crawlId}`)
        }
        const idle = !interrupt.signal.aborted && !isAlive(runner) && !(await isRunnerThere(home, by))
        if (idle && !by.run && !warned) {
          warned = true
          terminal.say(`no runner is there to work on it: start one with ${pc.bold('archivebox-ts run')}`)
        }
        const resume = howToResume(crawl)
        if (resume !== undefined && resume !== waiting) terminal.say(`paused: ${pc.bold(resume)} goes on with it`)
        waiting = resume
        // One that is put off is not due for a runner: it would only leave again.
        const isDue =
          resume === undefined && (crawl.retry_at?.getTime() ?? Number.POSITIVE_INFINITY) <= Date.now() + SOON_MS
        if (idle && by.run && isDue) {
          if (runner?.exitCode || runner?.signalCode)
            throw new AppError(`the runner ended with ${runner.signalCode ?? `exit code ${runner.exitCode}`}`, {
              hint: `see ${runnerLog(home.dataDir)}`,
            })
          runner = startRunner(home, crawlId, by.processId, options)
        }
        if (terminal.isTTY) terminal.live(countsText(await countPages(home, crawlId)))
        // A look at a huge crawl is not free: never spend more than a tenth of the time on looking.
        await sleep(Math.max(LOOK_MS, 10 * (performance.now() - begun)))
      } catch (error) {
        if (!isDatabaseAway(error)) throw error
        // A runner of ours brings it back, or says what is wrong; nobody waits for ever without one.
        if (isAlive(runner)) await sleep(AWAY_LOOK_MS)
        else if (interrupt.signal.aborted) throw explainDatabaseError(error, home.databaseUrl)
        else await open.untilBack()
      }
    }
    while (isAlive(runner)) await sleep(20)
    terminal.live('')
    await report(home, options, (await crawlById(home.db, crawlId))!)
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal)
    terminal.live('')
  }
}

/** What goes on with a crawl that is paused, or of which only paused pages are left; undefined when it goes on by itself. */
function howToResume({ id, status, retry_at }: CrawlRow): string | undefined {
  if (status === 'paused') return `archivebox-ts crawl resume ${id}`
  if (status !== 'started' || !retry_at || retry_at.getTime() < Date.now() + NEVER_MS) return undefined
  return `archivebox-ts snapshot list --crawl-id ${id} --status paused | archivebox-ts snapshot resume -`
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

function isAlive(child: ChildProcess | undefined): boolean {
  return child !== undefined && child.exitCode === null && child.signalCode === null
}

/**
 * A runner of its own process, for this crawl only, and for as long as we live: a newer runner may take over without
 * ending us.
 */
function startRunner(home: Home, crawlId: string, processId: string, options: GlobalOptions): ChildProcess {
  const args = [
    asset('main.js', 'main.ts'),
    'run',
    '--crawl-id',
    crawlId,
    '--exit-on-idle',
    '--daemon',
    ...(options.verbose ? ['-v'] : ['-q']),
  ]
  const env = {
    ...process.env,
    DATA_DIR: home.dataDir,
    [PARENT_ENV]: processId,
    ...(options.databaseUrl ? { DATABASE_URL: options.databaseUrl } : {}),
    ...(options.waitDb === undefined ? {} : { WAIT_DB: options.waitDb }),
  }
  // By the channel it hears of our end, however that comes about: then it is nobody's, and drains.
  return spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
}

/** Is there a runner to work for us? One that belongs to a server does, unless we are to run: then we borrow the lead from it. */
async function isRunnerThere(home: Home, by: { processId: string; run: boolean }): Promise<boolean> {
  const runner = (await liveRunnerProcesses(home)).at(-1)
  if (!runner || !by.run) return runner !== undefined
  const owner = await ownerOf(home, runner.id)
  return owner?.process_type !== 'server' || !(await commandOwnsForegroundRunner(home, by.processId))
}

/**
 * Does a page have a successful result? What only describes it (its headers, its icon, the hashes of what there is) counts for one
 * only where nothing failed: an error page has headers, too.
 */
const ARCHIVED = sql`
  coalesce(bool_or(r.status = 'succeeded' and r.plugin not in ('headers', 'favicon', 'hashes')), false)
  or coalesce(bool_or(r.status = 'succeeded') and not bool_or(r.status = 'failed'), false)`

/** Seconds that a page may be sealed and not yet seen: a long transaction commits with an early time. */
const LATE_SECONDS = 30

/** One line for each page that was sealed since the last look. */
async function sayNews(home: Home, crawlId: string, said: Set<string>): Promise<void> {
  const { rows } = await sql<{
    id: string
    url: string
    title: string | null
    archived: boolean | null
    failed: number
  }>`
    select s.id, s.url, s.title, result.archived, result.failed
    from snapshot s, lateral (select ${ARCHIVED} as archived, count(*) filter (where r.status = 'failed') as failed from latest_result r where r.snapshot_id = s.id) result
    where s.crawl_id = ${crawlId} and s.status = 'sealed' and s.status_changed_at > now() - make_interval(secs => ${LATE_SECONDS})
    order by s.status_changed_at`.execute(home.db)
  for (const row of rows.filter(({ id }) => !said.has(id))) {
    said.add(row.id)
    const mark = row.archived ? pc.green('✓') : pc.red('✗')
    terminal.say(
      `${mark} ${row.url}${row.title ? pc.dim(` ${row.title}`) : ''}${row.failed > 0 ? pc.yellow(` (${row.failed} failed)`) : ''}`,
    )
  }
}

/** Where everything lies, what was missing, and the exit code. */
async function report(home: Home, options: GlobalOptions, crawl: CrawlRow): Promise<void> {
  const { rows } = await sql<{
    url: string
    output_dir: string
    depth: number
    archived: boolean | null
    reason: string | null
  }>`
    select s.url, s.output_dir, s.depth, ${ARCHIVED} as archived,
           min(r.output_str) filter (where r.status = 'failed' and r.output_str <> '') as reason
    from snapshot s left join latest_result r on r.snapshot_id = s.id
    where s.crawl_id = ${crawl.id} group by s.id order by s.depth, s.id`.execute(home.db)
  const missing = await sql<{ output: string }>`
    select distinct r.output_str as output from latest_result r join snapshot s on s.id = r.snapshot_id
    where s.crawl_id = ${crawl.id} and r.status = 'skipped' and r.output_str like '%not found%' order by 1`.execute(
    home.db,
  )
  const empty = rows.filter((row) => !row.archived)
  for (const row of empty)
    terminal.say(`${pc.red('nothing archived:')} ${row.url}${row.reason ? `: ${row.reason}` : ''}`)
  for (const { output } of missing.rows) terminal.say(pc.dim(`skipped: ${output}`))
  if (rows.length === 0) terminal.say(`${pc.yellow('no pages:')} the allow and deny lists leave none of these URLs`)
  const dir = rows.length === 1 ? rows[0]!.output_dir : crawl.output_dir
  if (rows.length > empty.length)
    terminal.say(
      `${pc.green('archived')} ${rows.length - empty.length} of ${rows.length} pages: ${pc.bold(join(home.dataDir, dir, 'index.html'))}`,
    )
  if (wantsJson(options))
    printRecord({
      ...crawlRecord(crawl),
      output_dir: crawl.output_dir,
      snapshots: rows.length,
      archived: rows.length - empty.length,
    })
  else process.stdout.write(`${join(home.dataDir, dir)}\n`)
  if (empty.length > 0 || rows.length === 0) process.exitCode = EXIT.partial
}
