import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { parseDocument } from 'htmlparser2'
import { beforeAll, describe, expect, it } from 'vitest'
import { type TestHome, useHomes } from '../support/homes.ts'
import { eventually, NODE, PROGRAM } from '../support/program.ts'
import { queuedPages } from '../support/queued.ts'
import { records } from '../support/records.ts'

const PLAIN = 'https://example.com/plain'
const HARD = 'https://example.com/?q=%22a,b%22&amp=%3Cx%3E'
const TITLE = 'Tom & "Jerry",\n<b>both</b> · 猫'

const homes = useHomes()
let home: TestHome

beforeAll(async () => {
  home = await homes.original()
  await queuedPages(home, [PLAIN, HARD], '--tag', 'news,daily')
  await queuedPages(home, ['https://other.example/'])
  await home.query('update snapshot set title = $1 where url <> $2', [TITLE, PLAIN])
})

const exported = async (...args: string[]) => {
  const { code, stdout, stderr } = await home.run(['export', ...args])
  expect(code, stderr).toBe(0)
  return stdout
}

describe('export', () => {
  it('writes the records that snapshot list shows, and takes its filters', async () => {
    expect(await exported()).toBe((await home.run(['snapshot', 'list', '--json'])).stdout)
    expect(await exported('--format', 'urls', '--tag', 'news')).toBe(`${HARD}\n${PLAIN}\n`)
    expect(await exported('--format', 'urls', '-n', '1')).toBe('https://other.example/\n')
    expect((await home.run(['export', '--outcome', 'nice'])).code).toBe(2)
    expect((await home.run(['export', '--format', 'xml'])).code).toBe(2)
    expect((await home.run(['export', '--format', 'csv', '--json'])).code).toBe(2)
  })

  it('makes no WACZ of pages without a WARC', async () => {
    const none = await home.run(['export', '--format', 'wacz'])
    expect([none.code, none.stdout]).toEqual([1, ''])
    expect(none.stderr).toContain('error: none of 3 pages has a WARC')
    expect((await home.run(['export', '--format', 'wacz', '--json'])).code).toBe(2)
  })

  it('writes tables whose fields hold whatever they hold', async () => {
    const [, ...rows] = (await exported('--format', 'csv', '--tag', 'news', '--url__icontains', 'q=')).split('\n')
    const [row] = await records(home, ['snapshot', 'list', '--url__icontains', 'q='])
    expect(rows.join('\n')).toContain(`"${HARD}","${TITLE.replaceAll('"', '""')}","daily,news",`)
    expect(rows.join('\n')).toContain(`,${String(row!['created_at'])},queued,`)
  })

  it.each(['netscape', 'html'])('writes links with dates and tags as %s, which any parser reads', async (format) => {
    const links: Record<string, string>[] = []
    const walk = (node: unknown) => {
      const { name, attribs, children = [] } = node as { name?: string; attribs?: object; children?: unknown[] }
      if (name === 'a') links.push({ ...attribs, text: (children[0] as { data: string }).data })
      else for (const child of children) walk(child)
    }
    walk(parseDocument(await exported('--format', format)))
    const added = await home.query<{ url: string; at: string }>(
      'select url, floor(extract(epoch from created_at))::text as at from snapshot order by id desc',
    )
    const tags = (url: string) => (url.includes('example.com') ? 'daily,news' : '')
    expect(links).toEqual(
      added.map(({ url, at }) => ({
        href: url,
        add_date: at,
        tags: tags(url),
        text: url === PLAIN ? PLAIN : TITLE,
      })),
    )
  })

  it('waits for a slow reader, and ends quietly with one that leaves', async () => {
    const slow = await homes.clone(home)
    try {
      await slow.query(`insert into snapshot (id, crawl_id, url, url_hash, output_dir)
        select gen_random_uuid(), (select id from crawl limit 1), 'https://many.example/' || n, sha256(n::text::bytea), ''
        from generate_series(1, 5000) n`)
      const env = { PATH: process.env['PATH'], DATA_DIR: slow.dataDir, DATABASE_URL: slow.databaseUrl }
      const run = () => spawn(NODE, [PROGRAM, 'export'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
      const leaving = run()
      const said = text(leaving.stderr)
      await once(leaving.stdout, 'data')
      leaving.stdout.destroy()
      expect(await once(leaving, 'exit')).toEqual([0, null])
      expect(await said).toBe('')

      const waiting = run()
      await once(waiting.stdout, 'readable')
      // It does not read on into its own memory.
      await eventually(() =>
        slow.value(
          `select true from pg_stat_activity where datname = current_database() and query like 'fetch%'
            and state = 'idle in transaction' and now() - state_change > interval '1 s'`,
        ),
      )
      expect((await text(waiting.stdout)).trimEnd().split('\n')).toHaveLength(5003)
    } finally {
      await homes.discard(slow)
    }
  })
})
