// A collection of ArchiveBox comes along, with its files: nothing of it is changed, and nothing comes twice.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  globSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FileLock } from '../../../src/base/file-lock.ts'
import { changeIndex, collection07, collection09, putFiles } from '../../support/archivebox.ts'
import { newFolder, type TestHome, useHomes } from '../../support/homes.ts'

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
    expect(stderr).toContain('not imported: only http and https can be archived: file:///etc/hosts\n')
    expect(stderr).toMatch(/^4 snapshots · 2 imported · 1 not archived there: queued as crawl \S+ · 1 not imported$/m)
    expect(stderr).toMatch(/^4 files, 22 bytes: 4 copied$/m)
    expect(stderr).toMatch(/^skipped: 1 link among the files, the first .*link\.html$/m)
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
    expect(again.stderr).toMatch(/^4 snapshots · 1 imported · 1 imported before · 1 not archived there: /m)
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
        /^left unchanged: crawl \S+, whose pages another program archived; .*add --again/,
      )
      expect(retried.stderr, kind).toContain('nothing to retry')
    }
    rmSync(at('singlefile/singlefile.html'))
    const verified = await home.run(['verify', '--mend'])
    expect(verified.stderr).toMatch(/^ {2}1 missing: left unchanged: restore it from the collection it came from/m)
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
    expect(stderr).toContain('not imported: archive/1500000001.0/index.json: cannot be read\n')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(stderr).toMatch(/not imported: only http and https can be archived: data:[^\u0000-\u001f\u007f-\u009f]*\n/)
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
    expect(stderr).toContain('not imported: https://a.example/: another snapshot of the collection has its id\n')
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
      expect.stringMatching(/^error: another process is importing a collection into this data dir$/m),
    ])
    expect((await home.run(['add', '--from-archivebox', from])).stderr).toMatch(
      /^2 snapshots · 0 imported · 2 imported before/,
    )
  })

  it('is copied: what is changed there changes nothing here, unless --link says so', async () => {
    for (const [options, told, then] of [
      [[], '1 file, 3 bytes: 1 copied', 'dom'],
      [['--link'], '1 file, 3 bytes: 1 linked, 0 copied', 'changed'],
    ] as const) {
      const home = await homes.make()
      const from = join(home.dataDir, '..', `from-${options.length}`) // Of the same file system.
      collection09(from)
      const [file] = globSync('archive/**/output.html', { cwd: from })
      chmodSync(join(from, file!), 0o777)
      utimesSync(join(from, file!), 1, 1_000_000_000)
      const { code, stderr } = await home.run(['add', ...options, '--from-archivebox', from])
      expect(code, stderr).toBe(0)
      expect(stderr).toContain(`\n${told}\n`)
      const [taken] = await list(home, 'snapshot', 'list')
      const ours = join(home.dataDir, taken!.output_dir, 'dom/output.html')
      expect(lstatSync(ours).mtimeMs).toBe(1_000_000_000_000)
      if (options.length === 0) expect(lstatSync(ours).mode & 0o777).toBe(0o644)
      writeFileSync(join(from, file!), 'changed')
      expect(readFileSync(ours, 'utf8')).toBe(then)
      rmSync(from, { recursive: true })
    }
    const home = await homes.make()
    const { code, stderr } = await home.run(['add', '--link', 'https://a.example/'])
    expect([code, stderr]).toEqual([2, expect.stringContaining('--link works only with --from-archivebox')])
  })

  it('that is none is refused', async () => {
    const home = await homes.make()
    const none = join(folder, 'none')
    mkdirSync(none)
    for (const [args, reason] of [
      [[none], /is not a collection of ArchiveBox/],
      [[join(none, 'away')], /is not a folder/],
      [[none, 'https://a.example/'], /imports a collection as it is/],
    ] as const) {
      const { code, stderr } = await home.run(['add', '--from-archivebox', ...args])
      expect([code, stderr]).toEqual([2, expect.stringMatching(reason)])
    }
  })
})

describe('a collection from a stranger', () => {
  const secrets = () => {
    const from = join(folder, 'secrets')
    putFiles(from, { 'dom/output.html': 'secret', 'output.pdf': 'secret', 'index.jsonl': '{}', 'index.json': '{}' })
    return from
  }
  const here = (home: TestHome) =>
    globSync('archive/**', { cwd: home.dataDir, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
      .join()

  it('takes along no file from elsewhere, whatever its rows and links lead to', async () => {
    const home = await homes.make()
    const from = join(folder, 'leads-out')
    collection07(from)
    const ids = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(32))
    const page = (number: number, timestamp: string) => `
      insert into core_snapshot values
        ('${number}', 'https://s${number}.example/', ${timestamp}, '', '2018-06-26 08:00:02', null);`
    const outside = secrets()
    changeIndex(
      from,
      `delete from core_snapshot where id in ('${ids.slice(1).join("','")}');`,
      page(1, `'../../secrets'`),
      page(2, `'1500000000.0/../../../secrets'`),
      page(3, `'3'`),
      page(4, `'4'`),
      page(5, `'5' || char(0)`),
      page(6, `''`),
    )
    symlinkSync(outside, join(from, 'archive', '3'))
    mkdirSync(join(from, 'archive', '4'))
    const inside = join(from, 'archive', '4')
    symlinkSync(join(outside, 'output.pdf'), join(inside, 'output.pdf'))
    symlinkSync(outside, join(inside, 'media'))
    execFileSync('mkfifo', [join(inside, 'output.html')])
    for (const options of [['--dry-run'], [], ['--link']]) {
      const { code, stderr } = await home.run(['add', '--from-archivebox', from, ...options], { deadlineMs: 20_000 })
      expect(code, stderr).toBe(1)
      for (const number of [1, 2, 3, 5, 6])
        expect(stderr).toMatch(
          new RegExp(`^not imported: https://s${number}\\.example/: archive/.* leads out of /`, 'm'),
        )
      expect(stderr).not.toContain('https://s4.example')
    }
    expect(here(home)).not.toContain('secret')
    expect(await home.query(`select url from snapshot where url like 'https://s%'`)).toEqual([
      { url: 'https://s4.example/' }, // It has nothing but links and a pipe, which stay there.
    ])
  })

  it('without its index takes none either, and waits for no pipe', async () => {
    const home = await homes.make()
    const from = join(folder, 'lost-leads-out')
    const page = JSON.stringify({ url: 'https://a.example/', timestamp: '1500000000.0' })
    const outside = secrets()
    putFiles(from, {
      'archive/1/output.pdf': 'pdf',
      'archive/2/output.pdf': 'pdf',
      'archive/3/index.json': page,
      'archive/3/output.pdf': 'mine',
      'archive/5/index.json': `${page.slice(0, -1)}, "title": "`,
    })
    writeFileSync(join(outside, 'index.json'), page.replace('a.example', 'secret.example'))
    execFileSync('mkfifo', [join(from, 'archive/1/index.json')])
    symlinkSync(join(outside, 'index.json'), join(from, 'archive/2/index.json'))
    symlinkSync(outside, join(from, 'archive/4'))
    truncateSync(join(from, 'archive/5/index.json'), 65 * 1024 * 1024)
    const { code, stderr } = await home.run(['add', '--from-archivebox', from], { deadlineMs: 20_000 })
    expect(code, stderr).toBe(1)
    for (const number of [1, 2, 5])
      expect(stderr).toContain(`not imported: archive/${number}/index.json: cannot be read\n`)
    expect(await list(home, 'snapshot', 'list')).toMatchObject([{ url: 'https://a.example/' }])
    expect(here(home)).not.toContain('secret')
  })

  it('has tables, not views or what modules make', async () => {
    const home = await homes.make()
    for (const [index, statements] of [
      ['alter table core_snapshot rename to other', 'create view core_snapshot as select * from other'],
      ['alter table auth_user rename to other', 'create view auth_user as select * from other'],
      ['drop table core_snapshot', 'create virtual table core_snapshot using fts5(id, url, timestamp, title)'],
    ].entries()) {
      const from = join(folder, `views-${index}`)
      collection09(from)
      changeIndex(from, ...statements.map((statement) => `${statement};`))
      const { code, stderr } = await home.run(['add', '--from-archivebox', from])
      expect([code, stderr]).toEqual([2, expect.stringMatching(/^error: cannot read .*index\.sqlite3: /)])
    }
  })

  it('whose parts are links to elsewhere is refused', async () => {
    const home = await homes.make()
    const outside = secrets()
    collection07(join(outside, 'whole'))
    for (const name of ['archive', 'index.sqlite3']) {
      const from = join(folder, `linked-${name}`)
      mkdirSync(from)
      if (name !== 'archive') mkdirSync(join(from, 'archive'))
      symlinkSync(join(outside, 'whole', name), join(from, name))
      const { code, stderr } = await home.run(['add', '--from-archivebox', from])
      expect([code, stderr]).toEqual([2, expect.stringContaining(`error: ${name} leads out of ${from}\n`)])
    }
  })
})
