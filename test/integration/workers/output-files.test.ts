import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, expectHashes, pagesOf, type Result, resultsOf } from '../../support/archive.ts'
import { failpoints, fired } from '../../support/failpoints.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { publishedIn, wrongOutputs } from '../../support/outputs.ts'
import { hook, plugin } from '../../support/plugins.ts'
import { eventually } from '../../support/program.ts'
import { runAll } from '../../support/queued.ts'
import { records } from '../../support/records.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(1)
})
afterAll(() => site.close())

/** One page, archived with these plugins. */
async function archived(home: TestHome, plugins: string, ...options: string[]): Promise<string> {
  const crawl = await home.add('--plugins', plugins, ...options, `${site.url}/page-1.html`)
  await runAll(home)
  return crawl
}

async function folderOf(home: TestHome, crawl: string): Promise<string> {
  return join(home.dataDir, (await pagesOf(home, crawl))[0]!.output_dir)
}

/** `hook attempt: its files with their sizes`, of all results that name any. */
async function named(home: TestHome, crawl: string): Promise<Record<string, Record<string, number>>> {
  const sizes = ({ output_files }: Result) =>
    Object.fromEntries(Object.entries(output_files).map(([path, { size }]) => [path, size]))
  const results = (await resultsOf(home, crawl)).filter(({ output_files }) => Object.keys(output_files).length > 0)
  return Object.fromEntries(
    results.map((result) => [`${result.hook_name.slice('on_Snapshot__'.length)} ${result.attempt}`, sizes(result)]),
  )
}

/** For a hook that fails in its first attempt. */
const FAILS_FIRST = '[ -e "$DATA_DIR/tried" ] || { touch "$DATA_DIR/tried" half; exit 1; }'

const sizeOf = (home: TestHome) => home.value<number>('select output_size::int from snapshot')

describe('what is published', () => {
  it.each([
    ['appends to it', 'echo more >>../a/file'],
    ['writes into the middle of it', 'printf X | dd of=../a/file conv=notrunc status=none'],
    ['empties it', ': >../a/file'],
    ['changes its mode', 'chmod 0600 ../a/file; chmod 0700 ../a'],
    ['renames something over it', 'echo other >other; mv other ../a/file'],
    ['removes it', 'rm -r ../a'],
    ['puts a link in place of its folder', 'rm -r ../a; mkdir own; echo own >own/file; ln -s "$PWD/own" ../a'],
  ])('stays as it was when a later hook of another plugin %s', async (_what, change) => {
    const home = await homes.make()
    hook(home, 'a', '40_a.sh', 'echo first >file; chmod 0640 file')
    hook(home, 'b', '41_b.sh', `[ "$(cat ../a/file)" = first ] || exit 1\n${change}\necho done >b.txt`)
    const crawl = await archived(home, 'a,b,hashes')
    const dir = await folderOf(home, crawl)
    expect(readFileSync(join(dir, 'a/file'), 'utf8')).toBe('first\n')
    expect(statSync(join(dir, 'a/file')).mode & 0o777).toBe(0o640)
    expect(await named(home, crawl)).toMatchObject({ '40_a.sh 1': { file: 6 }, '41_b.sh 1': { 'b.txt': 5 } })
    expectHashes(dir)
    expect(await wrongOutputs(home)).toEqual([])
  })

  it('stays as it was when the next hook of its own plugin comes after such a change', async () => {
    const home = await homes.make()
    hook(home, 'a', '40_a.sh', 'mkdir deep; echo first | tee file >deep/file')
    hook(home, 'b', '41_b.sh', 'echo more >>../a/file; rm -r ../a/deep')
    hook(home, 'a', '42_a.sh', 'cat file >second')
    const dir = await folderOf(home, await archived(home, 'a,b,hashes'))
    for (const path of ['file', 'deep/file', 'second'])
      expect(readFileSync(join(dir, 'a', path), 'utf8'), path).toBe('first\n')
    expectHashes(dir)
    expect(await wrongOutputs(home)).toEqual([])
  })

  it('shares no file with anything else, and keeps the time that its hook gave it', async () => {
    const home = await homes.make()
    plugin(home, 'a', 'echo outside >../../mine; ln ../../mine file; ln file again; touch -d 2001-02-03T04:05:06Z file')
    const dir = await folderOf(home, await archived(home, 'a'))
    for (const name of ['file', 'again']) {
      expect(lstatSync(join(dir, 'a', name))).toMatchObject({ nlink: 1, size: 8 })
      expect(statSync(join(dir, 'a', name)).mtime.toISOString()).toBe('2001-02-03T04:05:06.000Z')
    }
    expect(await sizeOf(home)).toBe(16)
  })

  it('is what hashes.json lists: neither what a hook left unpublished nor what it made of its siblings’ files', async () => {
    const home = await homes.make()
    plugin(home, 'a', `echo left >left; echo '{"type": "ArchiveResult", "status": "failed"}'`)
    hook(home, 'b', '41_b.sh', 'echo b >b.txt')
    hook(home, 'c', '42_c.bg.sh', 'trap "echo late >late.txt; exit 0" TERM; echo ready; while :; do sleep 0.05; done')
    const dir = await folderOf(home, await archived(home, 'a,b,c,hashes'))
    const { files } = JSON.parse(readFileSync(join(dir, 'hashes/hashes.json'), 'utf8')) as { files: { path: string }[] }
    expect(files.map(({ path }) => path)).toEqual(['b/b.txt', 'c/late.txt'])
  })

  it('is made again when the page goes on where its files are not: on another machine, or without what was lost', async () => {
    const home = await homes.make()
    plugin(home, 'waits', 'while [ -e "$DATA_DIR/hold" ]; do sleep 0.05; done; cp ../html/output.html copy.html')
    writeFileSync(join(home.dataDir, 'hold'), '')
    const crawl = await home.add('--plugins', 'html,waits,title,hashes', `${site.url}/page-1.html`)
    const runner = home.start(['run'])
    const isHeld = "select count(*) = 1 from archive_result where plugin = 'waits' and status = 'started'"
    await eventually(() => home.value<boolean>(isHeld))
    await home.kill(runner)
    rmSync(await folderOf(home, crawl), { recursive: true })
    rmSync(join(home.dataDir, 'hold'))
    await runAll(home)
    const ends = (await resultsOf(home, crawl)).map(({ plugin: name, status }) => `${name} ${status}`)
    expect(ends).toEqual(['html succeeded', 'waits succeeded', 'title succeeded', 'hashes succeeded'])
    expect(publishedIn(await folderOf(home, crawl)).toSorted()).toEqual([
      'hashes/hashes.json',
      'html/output.html',
      'title/title.txt',
      'waits/copy.html',
    ])
    await expectComplete(home, crawl)
  })

  it('is made once when a person has moved it before a retry of another hook, and that is interrupted', async () => {
    const home = await homes.make()
    const counted = (name: string) => `echo ${name} >>"$DATA_DIR/ran"`
    hook(home, 'a', '40_a.sh', `${counted('a')}; echo large >file`)
    const waits = 'while [ -e "$DATA_DIR/hold" ]; do sleep 0.05; done'
    hook(home, 'b', '41_b.sh', `${counted('b')}; ${FAILS_FIRST}\n${waits}; echo b >b.txt`)
    const crawl = await archived(home, 'a,b')
    rmSync(join(await folderOf(home, crawl), 'a'), { recursive: true })
    await records(home, ['crawl', 'retry', '--failed', crawl])
    writeFileSync(join(home.dataDir, 'hold'), '')
    const runner = home.start(['run'])
    const ran = () => readFileSync(join(home.dataDir, 'ran'), 'utf8').trim().split('\n')
    await eventually(() => ran().length > 2)
    await home.kill(runner)
    rmSync(join(home.dataDir, 'hold'))
    await runAll(home)
    expect(ran()).toEqual(['a', 'b', 'b', 'b'])
    const ends = (await resultsOf(home, crawl)).map(
      ({ plugin: name, attempt, status }) => `${name} ${attempt} ${status}`,
    )
    expect(ends).toEqual(['a 1 succeeded', 'b 1 failed', 'b 2 succeeded'])
  })

  it('is not made again when a worker dies while it puts more of the same plugin in its place', async () => {
    const home = await homes.make()
    hook(home, 'a', '40_a.sh', '[ ! -e "$DATA_DIR/gone" ] || exit 1\ntouch "$DATA_DIR/gone"; printf 12345 >one')
    hook(home, 'a', '41_a.sh', 'printf 123 >two')
    const crawl = await home.add('--plugins', 'a', `${site.url}/page-1.html`)
    const env = failpoints(home, 'publish.files_replaced=kill9')
    expect((await home.run(['run', '--exit-on-idle'], { env })).code).toBe(0)
    expect([...fired(home).keys()]).toEqual(['publish.files_replaced'])
    expect(await named(home, crawl)).toEqual({ '40_a.sh 1': { one: 5 }, '41_a.sh 1': { two: 3 } })
    expect(await wrongOutputs(home)).toEqual([])
  })
})

describe('the size of a page', () => {
  it('counts the files of a plugin with several hooks once: each is named by the hook that wrote it', async () => {
    const home = await homes.make()
    hook(home, 'a', '40_a.sh', 'printf 12345 >one; printf 123 >both')
    hook(home, 'a', '41_a.sh', 'printf 1234567 >two; printf 4 >>both')
    const crawl = await archived(home, 'a')
    expect(await named(home, crawl)).toEqual({ '40_a.sh 1': { one: 5 }, '41_a.sh 1': { two: 7, both: 4 } })
    expect(await sizeOf(home)).toBe(16)
    expect(JSON.parse((await home.run(['status', '--json'])).stdout)).toMatchObject({ disk: { archive_bytes: 16 } })
    expect(await wrongOutputs(home)).toEqual([])
  })

  it('counts what a background hook and its siblings publish once', async () => {
    const home = await homes.make()
    hook(
      home,
      'a',
      '40_a.bg.sh',
      'trap "printf 12 >>log; rm marker; exit 0" TERM\nprintf 1 | tee log >marker; echo ready; while :; ' +
        'do sleep 0.05; done',
    )
    hook(home, 'a', '41_a.sh', 'printf 12345 >one')
    const crawl = await archived(home, 'a')
    expect(await named(home, crawl)).toEqual({ '40_a.bg.sh 1': { log: 3 }, '41_a.sh 1': { one: 5 } })
    expect(publishedIn(await folderOf(home, crawl)).sort()).toEqual(['a/log', 'a/one'])
    expect(await sizeOf(home)).toBe(8)
    expect(await wrongOutputs(home)).toEqual([])
  })

  it('counts a retried hook once, and not what it left no more of its plugin’s files', async () => {
    const home = await homes.make()
    hook(home, 'a', '40_a.sh', 'printf 1 >one; printf 1 >gone; printf 1 >left')
    hook(home, 'a', '41_a.sh', `${FAILS_FIRST}\nrm gone; printf 1234567 >one`)
    const crawl = await archived(home, 'a,hashes')
    const sizeOfHashes = async () => statSync(join(await folderOf(home, crawl), 'hashes/hashes.json')).size
    expect(await sizeOf(home)).toBe(3 + (await sizeOfHashes()))
    expect(await wrongOutputs(home)).toEqual([])
    await records(home, ['crawl', 'retry', '--failed', crawl])
    await runAll(home)
    expect(await named(home, crawl)).toEqual({
      '40_a.sh 1': { left: 1 },
      '41_a.sh 2': { one: 7 },
      '93_hashes.js 2': { 'hashes.json': await sizeOfHashes() },
    })
    expect(await sizeOf(home)).toBe(8 + (await sizeOfHashes()))
    expectHashes(await folderOf(home, crawl))
    expect(await wrongOutputs(home)).toEqual([])
  })

  it('is right after a drain between two hooks of a plugin', async () => {
    const home = await homes.make()
    hook(home, 'a', '40_a.sh', 'printf 12345 >one')
    hook(home, 'a', '41_a.sh', '[ -e "$DATA_DIR/seen" ] || { touch "$DATA_DIR/seen"; sleep 1000; }; printf 123 >two')
    const crawl = await home.add('--plugins', 'a', `${site.url}/page-1.html`)
    const runner = home.start(['run'])
    await eventually(() => existsSync(join(home.dataDir, 'seen')))
    runner.signal('SIGTERM')
    await runner.says(/draining/)
    await new Promise((resolve) => setTimeout(resolve, 300)) // Two signals within 150 ms count as one.
    runner.signal('SIGTERM')
    await runner.finished()
    await runAll(home)
    expect(await named(home, crawl)).toEqual({ '40_a.sh 1': { one: 5 }, '41_a.sh 1': { two: 3 } })
    expect(await wrongOutputs(home)).toEqual([])
  })

  it('is right when a page is cancelled half-way', async () => {
    const home = await homes.make()
    hook(home, 'a', '40_a.sh', 'printf 12345 >one')
    hook(home, 'b', '41_b.sh', 'touch "$DATA_DIR/seen"; sleep 1000')
    const crawl = await home.add('--plugins', 'a,b', `${site.url}/page-1.html`)
    const runner = home.start(['run', '--exit-on-idle'])
    await eventually(() => existsSync(join(home.dataDir, 'seen')))
    await records(home, ['crawl', 'cancel', crawl])
    expect((await runner.finished()).code).toBe(0)
    expect(await sizeOf(home)).toBe(5)
    expect(await wrongOutputs(home)).toEqual([])
  })

  it('is right after a result was deleted: its files go, and those of the others stay', async () => {
    const home = await homes.make()
    hook(home, 'a', '40_a.sh', 'printf 12345 >one; printf 1 >both; ln -s one own')
    hook(home, 'a', '41_a.sh', 'printf 123 >two; printf 2 >>both; ln -s one link')
    const crawl = await archived(home, 'a')
    await records(home, ['result', 'delete', '--yes', (await resultsOf(home, crawl))[0]!['id'] as string])
    expect(await named(home, crawl)).toEqual({ '41_a.sh 1': { two: 3, both: 2 } })
    expect(publishedIn(await folderOf(home, crawl)).sort()).toEqual(['a/both', 'a/two'])
    expect(await sizeOf(home)).toBe(5)
    expect(await wrongOutputs(home)).toEqual([])
  })
})

describe('links of a hook', () => {
  it('that stay in its plugin’s folder are published as links, listed without bytes, and left out of the hashes', async () => {
    const home = await homes.make()
    plugin(
      home,
      'a',
      'mkdir -p all host/sub; echo page >all/1.html; ln -s ../../all/1.html host/sub/index.html; ' +
        'ln -s all latest; ln -s /etc etc',
    )
    const crawl = await archived(home, 'a,hashes')
    const dir = await folderOf(home, crawl)
    expect(readlinkSync(join(dir, 'a/host/sub/index.html'))).toBe('../../all/1.html')
    expect(readFileSync(join(dir, 'a/latest/1.html'), 'utf8')).toBe('page\n')
    expect(readdirSync(join(dir, 'a')).sort()).toEqual(['all', 'host', 'latest'])
    expect((await resultsOf(home, crawl)).find((result) => result.plugin === 'a')!.output_files).toEqual({
      'all/1.html': { size: 5, mimetype: 'text/html' },
      'host/sub/index.html': { size: 0, mimetype: 'text/html', link: '../../all/1.html' },
      latest: { size: 0, mimetype: 'inode/directory', link: 'all' },
    })
    expectHashes(dir)
    expect(readFileSync(join(dir, 'index.html'), 'utf8')).toContain('3 files')
    expect(await wrongOutputs(home)).toEqual([])
  })

  it('are there for later hooks and later rounds, and go with their result', async () => {
    const home = await homes.make()
    plugin(home, 'a', 'echo file >file; ln -s file link')
    hook(
      home,
      'b',
      '41_b.sh',
      `${FAILS_FIRST}\n[ "$(readlink ../a/link)" = file ] && [ "$(cat ../a/link)" = file ] && echo fine >b.txt`,
    )
    const crawl = await archived(home, 'a,b')
    await records(home, ['crawl', 'retry', '--failed', crawl])
    await runAll(home)
    expect(await named(home, crawl)).toEqual({ '40_a.sh 1': { file: 5, link: 0 }, '41_b.sh 2': { 'b.txt': 5 } })
    expect(await wrongOutputs(home)).toEqual([])
    const ofA = (await resultsOf(home, crawl)).find((result) => result.plugin === 'a')!['id'] as string
    await records(home, ['result', 'delete', '--yes', ofA])
    expect(publishedIn(await folderOf(home, crawl))).toEqual(['b/b.txt'])
    await records(home, ['snapshot', 'delete', '--yes', (await pagesOf(home, crawl))[0]!.id])
    expect(readdirSync(join(home.dataDir, 'archive', 'snapshots'))).toEqual([])
  })
})
