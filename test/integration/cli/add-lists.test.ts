// Lists of other programs: what they say of their URLs comes along, and is there afterwards.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newFolder, type TestHome, useHomes } from '../../support/homes.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site
let folder: string

beforeAll(async () => {
  site = await startSite(pages(4))
  folder = newFolder()
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await site.close()
})

const url = (n: number) => `${site.url}/page-${n}.html`
const listOf = (name: string, text: string) => {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}
const listed = async (home: TestHome, ...args: string[]) => {
  const { stdout } = await home.run(['snapshot', 'list', '--json', ...args])
  const records = stdout.split('\n').filter(Boolean)
  return records.map((line) => JSON.parse(line) as Record<string, unknown> & { url: string; output_dir: string })
}

describe('a list of bookmarks', () => {
  it('keeps titles, tags, notes and dates: in rows, records and pages; the page’s own title wins', async () => {
    const home = await homes.make()
    const bookmarks = listOf(
      'bookmarks.html',
      `<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p>
<DT><A HREF="${url(1)}" ADD_DATE="1500000000" TAGS="sea,old news">Mine</A><DD>why I kept it
<DT><A HREF="${site.url}/missing" ADD_DATE="1500000001">Gone by now</A>
<DT><A HREF="javascript:alert(1)">JS</A>
<DT><A HREF="${url(1)}">Twice</A>
</DL>`,
    )
    const added = await home.run(['add', '--run', '--plugins', 'html,title', '--tag', 'all', '--file', bookmarks])
    expect(added.code, added.stderr).toBe(10)
    expect(added.stderr).toContain('left out: line 4: only http and https can be archived: javascript:alert(1)\n')
    expect(added.stderr).toMatch(/^4 read · 2 new · 1 repeated · 1 refused \(line 4: .*\)$/m)
    const all = await listed(home)
    const mine = all.find((page) => page.url === url(1))
    const gone = all.find((page) => page.url !== url(1))
    expect(mine).toMatchObject({
      title: 'Page 1',
      tags: ['all', 'old news', 'sea'],
      notes: 'why I kept it',
      bookmarked_at: '2017-07-14T02:40:00.000Z',
    })
    expect(gone).toMatchObject({ title: 'Gone by now', tags: ['all'], bookmarked_at: '2017-07-14T02:40:01.000Z' })
    expect((await listed(home, '--tag', 'sea')).map((page) => page.url)).toEqual([url(1)])
    const page = (file: string) => readFileSync(join(home.dataDir, mine!.output_dir, file), 'utf8')
    expect(JSON.parse(page('index.jsonl').split('\n')[0]!)).toMatchObject({
      tags: mine!['tags'],
      notes: mine!['notes'],
    })
    expect(page('index.html')).toContain('why I kept it')

    const known = ({ url, title, tags, notes, bookmarked_at }: Record<string, unknown>) => ({
      ...{ url, title, tags, notes, bookmarked_at },
    })
    for (const format of ['jsonl', 'csv', 'netscape']) {
      const exported = listOf(`exported.${format}`, (await home.run(['export', '--format', format])).stdout)
      const { stdout } = await home.run(['add', '--dry-run', '--json', '--again', '--file', exported])
      expect(
        stdout
          .trim()
          .split('\n')
          .map((line) => known(JSON.parse(line))),
        format,
      ).toEqual(all.map(known))
    }

    const again = await home.run(['add', '--dry-run', '--file', bookmarks])
    expect(again.stderr).toMatch(
      /^4 read · 1 new · 1 archived before \(skipped; --again .*\) · 1 repeated · 1 refused/m,
    )
    expect(JSON.parse(again.stdout)).toMatchObject({ url: `${site.url}/missing`, title: 'Gone by now' })
  })

  it('of which a line is broken is added without it, and ends with 1', async () => {
    const home = await homes.make()
    const records = Array.from({ length: 100 }, (_, n) => `{"url":"http://127.0.0.1:9/${n + 1}","tags":["t"]}`)
    records[76] = '{"url":"http://127.0.0.1:9/77"'
    const { code, stdout, stderr } = await home.run(['add', '--json', '--file', listOf('a.jsonl', records.join('\n'))])
    expect(code, stderr).toBe(1)
    expect(stderr).toContain('left out: line 77: broken JSON\n')
    expect(stderr).toMatch(/^100 read · 99 new · 1 broken \(line 77: broken JSON\)$/m)
    expect(JSON.parse(stdout)).toMatchObject({ urls_total: 99 })
  })

  it('is read by --parser as what it is not, when that is asked for', async () => {
    const home = await homes.make()
    const csv = listOf('list.csv', 'url,title\nhttps://a.example/,A\n')
    const dry = async (...args: string[]) =>
      (await home.run(['add', '--dry-run', '--json', '--file', csv, ...args])).stdout
    expect(JSON.parse(await dry())).toMatchObject({ url: 'https://a.example/', title: 'A' })
    expect(JSON.parse(await dry('--parser', 'txt'))).toMatchObject({ url: 'https://a.example/,A', title: null })
    const wrong = await home.run(['add', '--parser', 'word', '--file', csv])
    expect([wrong.code, wrong.stdout]).toEqual([2, ''])
    expect(wrong.stderr).toContain('auto, txt, html, netscape')
    const rss = await home.run(['add', '--parser', 'rss', '-'], { input: 'https://a.example/' })
    expect([rss.code, rss.stderr]).toEqual([
      2,
      expect.stringMatching(/^error: --parser rss finds no URL in stdin\nhint: {2}leave --parser out/),
    ])
    const unknown = await home.run(['add', '--file', listOf('unknown.xml', '<things><thing/></things>')])
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      expect.stringMatching(/^error: no URL found in .*unknown\.xml \(read as html\)\nhint: {2}.*--parser/),
    ])
    const none = await home.run(['schedule', 'add', '--every', 'day'])
    expect(none.stderr).toMatch(/^error: no URL given\nhint: {2}archivebox-ts schedule add --every day https/)
    const file = await home.run(['add', csv])
    expect([file.code, file.stderr]).toEqual([2, expect.stringContaining(`--file ${csv}`)])
    mkdirSync(join(folder, 'no-list'))
    const noList = await home.run(['add', '--file', join(folder, 'no-list')])
    expect([noList.code, noList.stderr]).toEqual([2, expect.stringMatching(/^error: cannot read .*EISDIR/)])
  })
})

describe('a URL without a verb', () => {
  it('means add --run behind --, too', async () => {
    const home = await homes.make()
    const { code, stderr } = await home.run(['-q', '--', url(1)])
    expect(code, stderr).toBe(0)
    expect(stderr).not.toContain('left out')
    expect(await listed(home, '--outcome', 'archived')).toHaveLength(1)
  })

  it.each([[], ['--json', '--wait-db', '9']])('means add --run, behind options like %j, too', async (...options) => {
    const home = await homes.make()
    const { code, stderr } = await home.run([...options.flat(), url(1), '--plugins', 'html'])
    expect(code, stderr).toBe(0)
    expect(stderr).toMatch(/1 page: 1 archived/)
  })
})

describe('a limit', () => {
  it('of links that nobody set is named, and holds', async () => {
    const home = await homes.make()
    const { stdout, stderr } = await home.run(['add', '--json', '--depth', '1', url(1), url(2)])
    expect(stderr).toMatch(/^depth 1: at most 1000 linked pages; --max-urls /m)
    expect(JSON.parse(stdout)).toMatchObject({ max_urls: 1_002 })
  })

  it('of bytes ends a crawl with the pages that fit; the others are named', async () => {
    const home = await homes.make()
    const args = ['--run', '--json', '--plugins', 'html,title', '--max-size', '0.01k']
    const env = { MAX_SNAPSHOT_WORKERS: '1' }
    const { code, stdout, stderr } = await home.run(['add', ...args, url(1), url(2), url(3)], { env })
    expect(code, stderr).toBe(10)
    expect(JSON.parse(stdout)).toMatchObject({ max_size: 10, counts: { queued: 0 } })
    const cause = 'not begun: the crawl has reached its --max-size, 10 B'
    expect((await listed(home)).map((page) => page['cause']).sort()).toEqual([cause, cause, null])

    // A page that was begun is finished, in further attempts, too.
    const [title] = await home.query<{ id: string }>(
      "update archive_result set status = 'failed' where plugin = 'title' returning id",
    )
    expect((await home.run(['result', 'retry', title!.id])).code).toBe(0)
    expect((await home.run(['run', '--exit-on-idle'], { env })).code).toBe(0)
    const titles = await home.query("select status from archive_result where plugin = 'title' order by attempt")
    expect(titles).toEqual([{ status: 'failed' }, { status: 'succeeded' }])

    expect((await home.run(['add', '--max-size', 'much', url(1)])).stderr).toMatch(/--max-size takes a size in bytes/)
  })
})

describe('add --index-only', () => {
  it('makes rows and pages without running a hook; the crawl is archived when it is resumed', async () => {
    const home = await homes.make()
    const { code, stdout, stderr } = await home.run([
      'add',
      '--json',
      '--index-only',
      '--plugins',
      'html',
      url(1),
      url(2),
    ])
    expect(code, stderr).toBe(0)
    const { id, output_dir } = JSON.parse(stdout) as { id: string; output_dir: string }
    const paths = [output_dir, ...(await listed(home, '--status', 'paused')).map((page) => page.output_dir)]
    expect(paths).toHaveLength(3)
    for (const path of paths) expect(readFileSync(join(home.dataDir, path, 'index.html'), 'utf8')).toMatch(/<bdi>/)
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    expect(await home.value('select count(*)::int from archive_result')).toBe(0)
    expect((await home.run(['crawl', 'resume', id])).code).toBe(0)
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    expect((await listed(home, '--outcome', 'archived')).map((page) => page.url).sort()).toEqual([url(1), url(2)])
    const both = await home.run(['add', '--index-only', '--run', url(3)])
    expect([both.code, both.stderr]).toEqual([2, expect.stringMatching(/^error: --index-only archives nothing/)])
  })
})
