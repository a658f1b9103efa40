import { sql } from 'kysely'
import { AppError, UsageError } from '../../base/errors.ts'
import type { CrawlRow } from '../../db/crawls.ts'
import type { Home } from '../../db/home.ts'
import { crawlRecord } from '../../db/records.ts'
import { cancelCrawls, pauseCrawls, resumeCrawls } from '../../machines/commands.ts'
import { crawlMachine } from '../../machines/crawl.ts'
import { retry } from '../../machines/retry.ts'
import { rewritePages } from '../../workers/rewrite-pages.ts'
import { ago, table } from '../format.ts'
import { asProcess, openHome } from '../home.ts'
import { uuid } from '../ids.ts'
import type { GlobalOptions } from '../options.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'

/** `crawl list`: newest first. */
export async function crawlList(options: GlobalOptions, verb: { status?: string; n?: string }): Promise<void> {
  const open = await openHome(options, 'never', (line) => terminal.say(line))
  try {
    const limit = Number(verb.n ?? 100)
    if (!Number.isInteger(limit) || limit < 1) throw new UsageError(`-n takes a whole number from 1 on, not "${verb.n}"`)
    const known = Object.keys(crawlMachine.states)
    if (verb.status !== undefined && !known.includes(verb.status))
      throw new UsageError(`there is no status "${verb.status}"`, `the statuses of a crawl are ${known.join(', ')}`)
    const { rows } = await sql<CrawlRow & { pages: number; sealed: number }>`
      select c.*, (select count(*) from snapshot s where s.crawl_id = c.id) as pages,
             (select count(*) from snapshot s where s.crawl_id = c.id and s.status = 'sealed') as sealed
      from crawl c where ${verb.status === undefined ? sql`true` : sql`c.status = ${verb.status}`}
      order by c.created_at desc limit ${limit}`.execute(open.home.db)
    if (wantsJson(options)) for (const row of rows) printRecord(crawlRecord(row))
    else {
      const lines = rows.map((row) => [
        row.id,
        row.status,
        `${row.sealed} of ${row.pages}`,
        ago(row.created_at),
        row.label || row.urls.split('\n')[0]!,
      ])
      process.stdout.write(table(['id', 'status', 'pages', 'added', 'what'], lines))
    }
  } finally {
    await open.close()
  }
}

/** `crawl pause`, `resume`, `cancel`: on crawls by id. Exit code 1 when none of them could be. */
export async function crawlCommand(options: GlobalOptions, ids: readonly string[], verb: 'pause' | 'resume' | 'cancel'): Promise<void> {
  const command = { pause: pauseCrawls, resume: resumeCrawls, cancel: cancelCrawls }[verb]
  await change(options, ids, async (home) => {
    const changed = await command(home.db, ids)
    const done = { pause: 'paused', resume: 'queued again', cancel: 'sealed' }[verb]
    if (changed.length === 0) {
      const there = await statuses(home, ids)
      throw new AppError(`no crawl to ${verb}: ${ids.map((id) => `${id} is ${there.get(id.toLowerCase()) ?? 'not there'}`).join(', ')}`)
    }
    for (const id of changed) terminal.say(`${done}: ${id}`)
    if (verb === 'cancel') await rewritePages(home, changed)
  })
}

/** `crawl retry`: another attempt of what ended without an output. */
export async function crawlRetry(
  options: GlobalOptions,
  ids: readonly string[],
  verb: { plugin?: string; failed?: boolean },
): Promise<void> {
  await change(options, ids, async (home) => {
    const there = await statuses(home, ids)
    for (const id of ids)
      if (!there.has(id.toLowerCase())) throw new UsageError(`there is no crawl ${id}`, 'archivebox-ts crawl list shows them')
    const { hooks, snapshots, crawls } = await retry(home.db, {
      crawls: ids,
      ...(verb.failed ? { statuses: ['failed'] } : {}),
      ...(verb.plugin === undefined ? {} : { plugins: verb.plugin.split(',').map((name) => name.trim()) }),
    })
    terminal.say(
      crawls.length === 0 ? 'nothing to run again' : `${hooks} hooks of ${snapshots} pages are queued again; their earlier attempts stay`,
    )
  })
}

async function change(options: GlobalOptions, ids: readonly string[], work: (home: Home) => Promise<void>): Promise<void> {
  for (const id of ids) uuid(id)
  const open = await openHome(options, 'never', (line) => terminal.say(line))
  try {
    await asProcess(open.home, 'cli', () => work(open.home))
  } finally {
    await open.close()
  }
}

/** The statuses of those of these crawls that are there. */
async function statuses(home: Home, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await home.db.selectFrom('crawl').select(['id', 'status']).where('id', 'in', ids).execute()
  return new Map(rows.map(({ id, status }) => [id, status]))
}
