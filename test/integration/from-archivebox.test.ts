// A collection of ArchiveBox comes along, with its files: nothing of it is changed, and nothing comes twice.
import { existsSync, globSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FileLock } from '../../src/base/file-lock.ts'
import { collection07, collection09, putFiles } from '../support/archivebox.ts'
import { newFolder, type TestHome, useHomes } from '../support/homes.ts'

const homes = useHomes()
let folder: string

beforeAll(() => {
  folder = newFolder()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const recordsOf = (text: string) =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown> & { url: string; output_dir: string; id: string })
const list = async (home: TestHome, ...args: string[]) => recordsOf((await home.run([...args, '--json'])).stdout)
const lookOf = (from: string) =>
  globSync('**/*', { cwd: from })
    .sort()
    .map((path) => [path, lstatSync(join(from, path)).mtimeMs])

describe('a collection of ArchiveBox 0.7', () => {
  it('comes with titles, tags, dates, results and files; what does not is named, and it is taken once', async () => {
    const home = await homes.make()
    const from = join(folder, 'old')
    collection07(from)
    const before = lookOf(from)
    const dry = await home.run(['add', '--dry-run', '--from-archivebox', from])
    expect(dry.stderr).toBe('dry run: 4 snapshots, 3 of them with files; nothing was written\n')
    expect(await home.value('select count(*)::int from crawl')).toBe(0)

    const { code, stderr } = await home.run(['add', '--from-archivebox', from])
    expect(code, stderr).toBe(1)
    expect(stderr).toContain('not taken: only http and https can be archived: file:///etc/hosts\n')
    expect(stderr).toMatch(/^4 snapshots · 2 taken · 1 not archived there: queued as crawl \S+ · 1 not taken$/m)
    expect(stderr).toMatch(/^4 files, 22 bytes: 4 linked, 0 copied$/m)
    expect(stderr).toMatch(/^left there: 1 link among the files, the first .*link\.html$/m)
    expect(lookOf(from)).toEqual(before)

    const [later, first] = await list(home, 'snapshot', 'list')
    expect(first).toMatchObject({
      url: 'https://a.example/',
      title: 'A',
      tags: ['sea'],
      bookmarked_at: '2017-07-14T02:40:00.000Z',
      sealed_at: '2020-01-02T03:04:05.678Z',
      status: 'sealed',
      outcome: 'archived',
      output_size: 19,
    })
    expect(later).toMatchObject({ url: 'https://a.example/', title: 'A later', outcome: 'archived' })
    const results = await list(home, 'result', 'list', '--snapshot-id', first!.id)
    const told = results.map(({ plugin, status, attempt, output_files: files }) => [
      plugin,
      status,
      attempt,
      Object.keys(files as object),
    ])
    expect(told.sort()).toEqual([
      ['singlefile', 'succeeded', 1, ['singlefile.html']],
      ['warc', 'succeeded', 1, ['1.warc.gz']],
      ['wget', 'failed', 1, []],
      ['wget', 'succeeded', 2, ['a.example/index.html']],
    ])
    const at = (path: string) => join(home.dataDir, first!.output_dir, path)
    expect(readFileSync(at('wget/a.example/index.html'), 'utf8')).toBe('by wget')
    expect(readFileSync(at('index.html'), 'utf8')).toContain('singlefile/singlefile.html')
    expect(readFileSync(join(home.dataDir, 'index.html'), 'utf8')).toContain('2 pages')

    // As if it had been interrupted between the files of a page and its rows.
    await home.query('delete from snapshot where id = $1', [first!.id])
    writeFileSync(at('half.html'), 'half')
    // And between the rows of another and its pages.
    const dirs = await home.query<{ output_dir: string }>('select output_dir from crawl union select $1', [
      later!.output_dir,
    ])
    const pages = dirs.map(({ output_dir }) => join(home.dataDir, output_dir, 'index.html')).filter(existsSync)
    expect(pages).toHaveLength(3)
    for (const page of pages) rmSync(page)
    const again = await home.run(['add', '--from-archivebox', from])
    expect(pages.filter(existsSync)).toEqual(pages)
    expect(again.stderr).toMatch(/^4 snapshots · 1 taken · 1 here before · 1 not archived there: /m)
    expect(globSync('half.html', { cwd: at('') })).toEqual([])
    expect(await home.value(`select count(*)::int from crawl where status = 'queued'`)).toBe(1)
    expect(await list(home, 'snapshot', 'list', '--host', 'a.example')).toHaveLength(2)
    // What it holds cannot be made again, and stays as it is.
    const state = () =>
      home.query(`select s.status, count(r.id)::int as results from snapshot s
      left join archive_result r on r.snapshot_id = s.id group by s.id order by s.id`)
    const wget = `plugin = 'wget' and attempt = 2`
    await home.query(`update archive_result set status = 'failed' where ${wget}`)
    const taken = await state()
    for (const [kind, id] of [
      ['crawl', first!['crawl_id'] as string],
      ['snapshot', first!.id],
      ['result', await home.value(`select id from archive_result where ${wget}`)],
    ] as [string, string][]) {
      const retried = await home.run([kind, 'retry', id])
      expect(retried.stderr, kind).toMatch(
        /^left as it is: crawl \S+, whose pages another program archived; .*add --again/,
      )
      expect(retried.stderr, kind).toContain('nothing to run again')
    }
    rmSync(at('singlefile/singlefile.html'))
    const verified = await home.run(['verify', '--mend'])
    expect(verified.stderr).toMatch(/^ {2}1 missing: left as it is: bring it back from the collection it came from/m)
    expect(verified.code).toBe(1)
    expect(await state()).toEqual(taken)
    const added = await home.run(['add', 'https://a.example/'])
    expect(added.stderr).toMatch(/^1 read · 0 new · 1 archived before/)
  })
})

describe('a collection of ArchiveBox 0.9', () => {
  it('comes crawl by crawl, with notes and failures', async () => {
    const home = await homes.make()
    const from = join(folder, 'new')
    collection09(from)
    const { code, stdout, stderr } = await home.run(['add', '--json', '--from-archivebox', from])
    expect(code, stderr).toBe(0)
    expect(recordsOf(stdout)).toMatchObject([{ type: 'Crawl', status: 'sealed', label: 'ArchiveBox new' }])
    expect(await list(home, 'snapshot', 'list')).toMatchObject([
      {
        url: 'https://n.example:8443/',
        title: 'N',
        depth: 1,
        notes: 'a note',
        outcome: 'partial',
        cause: 'pdf: no browser',
        bookmarked_at: '2024-05-06T07:08:09.549Z',
      },
    ])
  })

  it('without its index comes by the indexes of its snapshots', async () => {
    const home = await homes.make()
    const from = join(folder, 'lost')
    const page = 'archive/users/me/snapshots/20240506/n.example/06b0'
    const record = { type: 'Snapshot', id: '06b0', url: 'https://n.example/', title: 'N', tags: 'x,y' }
    const result = { type: 'ArchiveResult', plugin: 'dom', hook_name: 'on_Snapshot__53_dom.js', status: 'succeeded' }
    putFiles(from, {
      [`${page}/index.jsonl`]: [record, result].map((each) => JSON.stringify(each)).join('\n'),
      [`${page}/dom/output.html`]: 'dom',
      'archive/1500000000.0/index.json': JSON.stringify({
        url: 'https://a.example/',
        title: 'A',
        timestamp: '1500000000.0',
        tags: 'sea',
        history: { pdf: [{ status: 'succeeded', output: 'output.pdf', start_ts: '2020-01-02T03:04:05+00:00' }] },
      }),
      'archive/1500000000.0/output.pdf': 'pdf',
      'archive/1500000001.0/index.json': '{"url": ',
      'archive/1500000002.0/index.json': JSON.stringify({ url: 'data:\u001b]0;owned\u0007\u009b2J' }),
    })
    const { code, stderr } = await home.run(['add', '--from-archivebox', from])
    expect(code, stderr).toBe(1)
    expect(stderr).toContain('not taken: archive/1500000001.0/index.json: cannot be read\n')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(stderr).toMatch(/not taken: only http and https can be archived: data:[^\u0000-\u001f\u007f-\u009f]*\n/)
    const taken = await list(home, 'snapshot', 'list')
    expect(taken.map(({ url, tags, outcome }) => [url, tags, outcome]).sort()).toEqual([
      ['https://a.example/', ['sea'], 'archived'],
      ['https://n.example/', ['x', 'y'], 'archived'],
    ])
  })

  it('with one id twice loses neither copy, and what has no date is taken once', async () => {
    const home = await homes.make()
    const from = join(folder, 'twice')
    const page = (timestamp: string, id: string) => JSON.stringify({ url: 'https://a.example/', id, timestamp })
    putFiles(from, {
      'archive/a/index.json': page('', 'one'),
      'archive/a/output.pdf': 'the first',
      'archive/b/index.json': page('', 'one'),
      'archive/b/output.html': 'the second',
    })
    const { code, stderr } = await home.run(['add', '--from-archivebox', from])
    expect(stderr).toContain('not taken: https://a.example/: another snapshot of the collection has its id\n')
    expect(code).toBe(1)
    const [taken, ...others] = await list(home, 'snapshot', 'list')
    expect(others).toEqual([])
    expect(readFileSync(join(home.dataDir, taken!.output_dir, 'pdf/output.pdf'), 'utf8')).toBe('the first')

    const lock = new FileLock(join(home.dataDir, '.adoption.lock'))
    await lock.exclusive()
    const meanwhile = await home.run(['add', '--from-archivebox', from])
    lock.release()
    expect([meanwhile.code, meanwhile.stderr]).toEqual([
      1,
      expect.stringMatching(/^error: another process is taking over a collection into this data dir$/m),
    ])
    expect((await home.run(['add', '--from-archivebox', from])).stderr).toMatch(
      /^2 snapshots · 0 taken · 2 here before/,
    )
  })

  it('that is none is refused', async () => {
    const home = await homes.make()
    const none = join(folder, 'none')
    mkdirSync(none)
    for (const [args, reason] of [
      [[none], /is no collection of ArchiveBox/],
      [[join(none, 'away')], /is no folder/],
      [[none, 'https://a.example/'], /takes a collection over as it is/],
    ] as const) {
      const { code, stderr } = await home.run(['add', '--from-archivebox', ...args])
      expect([code, stderr]).toEqual([2, expect.stringMatching(reason)])
    }
  })
})
