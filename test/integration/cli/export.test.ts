import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { parseDocument } from 'htmlparser2'
import { beforeAll, describe, expect, it } from 'vitest'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { noTerminal, onTerminal } from '../../support/on-terminal.ts'
import { eventually, NODE, PROGRAM } from '../../support/program.ts'
import { queuedPages } from '../../support/queued.ts'
import { records } from '../../support/records.ts'

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

  it('marks what a spreadsheet would calculate, and add takes the mark off', async () => {
    const titles = ["=cmd|' /C calc'!A0", "'=1", '-5', ' @SUM(1)']
    const own = await homes.clone(home)
    try {
      const urls = titles.map((_, at) => `https://sheet.example/${at}`)
      await queuedPages(own, urls)
      for (const [at, title] of titles.entries())
        await own.query('update snapshot set title = $1 where url = $2', [title, urls[at]])
      const { stdout } = await own.run(['export', '--format', 'csv', '--url__icontains', 'sheet.example'])
      expect(stdout).toContain(`,'=cmd|' /C calc'!A0,`)
      expect(stdout).toContain(`,''=1,`)
      expect(stdout).toContain(',-5,')
      const listed = await own.run(['snapshot', 'list', '-o', 'csv', '--columns', 'title'])
      expect(listed.stdout.split('\n')).toContain("' @SUM(1)")
      const taken = await own.run(['add', '--again', '--dry-run', '--json', '-'], { input: stdout })
      const read = taken.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { title: string })
      expect(read.map(({ title }) => title).sort()).toEqual(titles.map((title) => title.trim()).sort())
    } finally {
      await homes.discard(own)
    }
  })

  it.skipIf(noTerminal)(`shows a terminal nothing that it acts on, in no format ${noTerminal || ''}`, async () => {
    const hostile = '\u001b]0;pwned\u0007\u009b31mred\u001b[2J\u202etitle\u0085'
    const own = await homes.clone(home)
    try {
      await own.query('update snapshot set title = $1', [hostile])
      const commands = [
        ...['jsonl', 'csv', 'netscape', 'html', 'urls'].map((format) => ['export', '--format', format]),
        ...['table', 'wide', 'jsonl', 'csv', 'ids'].map((format) => ['snapshot', 'list', '-o', format]),
        ['snapshot', 'show', await own.value<string>('select id from snapshot limit 1')],
        ['snapshot', 'list', '--json'],
      ]
      for (const command of commands) {
        const shown = await onTerminal(own, command)
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
        expect(shown, command.join(' ')).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/)
        if (command.includes('--json'))
          expect((JSON.parse(shown.split('\n')[0]!) as { title: string }).title).toBe(hostile)
      }
      expect((await own.run(['export', '--format', 'csv'])).stdout).toContain(hostile)
    } finally {
      await homes.discard(own)
    }
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

  it('fails, as every command does, when stdout takes nothing because its disk is full', async () => {
    const under = ['sh', '-c', 'exec "$@" >/dev/full', 'sh']
    for (const command of [
      ['export'],
      ['snapshot', 'list'],
      ['config', 'list'],
      ['completion', 'bash'],
      ['add', '--dry-run', PLAIN],
    ]) {
      const { code, stderr } = await home.run(command, { under })
      expect(code, command.join(' ')).toBe(1)
      expect(stderr.match(/^error: .*/gm)).toEqual(['error: cannot write to stdout: no space left on device'])
    }
  })

  it('waits for a slow reader, and ends quietly with one that leaves', async () => {
    const slow = await homes.clone(home)
    try {
      await slow.query(`insert into snapshot (id, crawl_id, url, url_hash, output_dir)
        select gen_random_uuid(), (select id from crawl limit 1), 'https://many.example/' || n, sha256(n::text::bytea),
          'archive/x'
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
