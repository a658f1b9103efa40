// The built-in hooks of a page run in a row, and their ends are written together: what a worker takes with it when it
// dies in between must not be done again, what may have been lost with the machine must.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HOSTED_LOG } from '../../../src/base/attempt-paths.ts'
import { uuidv7 } from '../../../src/base/ids.ts'
import { readRowLog } from '../../../src/base/row-log.ts'
import { expectComplete, resultsOf } from '../../support/archive.ts'
import { failpoints, fired } from '../../support/failpoints.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { hook } from '../../support/plugins.ts'
import { processesOf } from '../../support/processes.ts'
import { eventually } from '../../support/program.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

const PLUGINS = 'headers,html,title,readability,hashes'
const homes = useHomes({ MAX_SNAPSHOT_WORKERS: '1', WGET_ENABLED: 'False' })
let site: Site

/** A page of 40 MB: a cell in a cell in a cell, again and again. */
const NESTED = `<title>Tables</title>${`${'<table><tr><td>'.repeat(100)}x${'</table>'.repeat(100)}`.repeat(18_000)}`
/** One whose tree readability just takes on, with attributes. */
const PARAGRAPH = `<p a=1 b=2 c=3 d=4 e=5 f=6 g=7 h=8>${'So it goes, on and on. '.repeat(4)}</p>`
const BOOK = `<title>Book</title>${PARAGRAPH.repeat(45_000)}`

beforeAll(async () => {
  site = await startSite({
    ...pages(4),
    '/tables': NESTED,
    '/book': BOOK,
    '/busy': (_request, response) => {
      if (site.hits('/busy') > 1) response.destroy()
      else response.writeHead(503, { 'content-type': 'text/html', 'retry-after': '1' }).end('<title>Busy</title>Later')
    },
    '/drips': (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' })
      const timer = setInterval(() => response.write('<p>'), 50)
      response.on('close', () => clearInterval(timer))
    },
  })
})
afterAll(() => site.close())

const statuses = async (home: TestHome, crawl: string) =>
  Object.fromEntries((await resultsOf(home, crawl)).map(({ plugin, status }) => [plugin, status]))

const rowLog = async (home: TestHome) =>
  join(home.dataDir, await home.value<string>('select output_dir from snapshot'), HOSTED_LOG)

/** When the page's hooks ended, by name. */
async function endsOf(home: TestHome): Promise<Record<string, number>> {
  return Object.fromEntries([...readRowLog(await rowLog(home))].map(([name, { at }]) => [name, at]))
}

/** The plugins in each row of the page's hooks. */
async function rowsOf(home: TestHome): Promise<string[][]> {
  const lines = readFileSync(await rowLog(home), 'utf8').split('\n')
  const rows = lines.filter((line) => line.startsWith('{"type":"Row"')).map((line) => JSON.parse(line) as Row)
  return rows.map(({ hooks }) => hooks.map((name) => name.split('.')[0]!))
}

interface Row {
  readonly hooks: readonly string[]
}

const ALL_FINE = Object.fromEntries(PLUGINS.split(',').map((plugin) => [plugin, 'succeeded']))

describe('the hashes of a page', () => {
  it('are taken in the row of the others, before those are published', async () => {
    const home = await homes.make()
    const crawl = await home.add('--plugins', PLUGINS, `${site.url}/page-1.html`)
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    await expectComplete(home, crawl)
    expect(await rowsOf(home)).toEqual([PLUGINS.split(',')])
  })

  it('are taken again after hooks that come because the page is a file', async () => {
    const home = await homes.make()
    const crawl = await home.add(`${site.url}/document.pdf`)
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    await expectComplete(home, crawl)
    const rows = await rowsOf(home)
    expect(rows[0]).toContain('hashes')
    expect(rows[0]).not.toContain('pdftext')
    expect(rows.findIndex((row) => row.includes('pdftext'))).toBeGreaterThan(0)
    expect(rows.at(-1)).toEqual(['hashes'])
  })
})

describe('the hashes of files that were not published', () => {
  it('are not left when there are none in the end', async () => {
    const home = await homes.make()
    const crawl = await home.add('--plugins', 'headers,html,hashes', '-c', 'HOOK_RETRY_SECONDS=0.4', `${site.url}/busy`)
    const { code, stderr } = await home.run(['run', '--exit-on-idle'])
    expect(code, stderr).toBe(0)
    expect(await rowsOf(home)).toContainEqual(['headers', 'html', 'hashes'])
    expect(await statuses(home, crawl)).toEqual({ headers: 'failed', html: 'skipped', hashes: 'noresults' })
    const [page] = await home.query<{ output_dir: string }>('select output_dir from snapshot')
    expect(existsSync(join(home.dataDir, page!.output_dir, 'hashes'))).toBe(false)
    expect((await home.run(['verify'])).code).toBe(0)
  })
})

describe('a worker that dies when a row of hooks has ended', () => {
  it.each([
    ['publish.hosted_hook_ended', 1, '/page-1.html'],
    ['publish.files_aside', 1, '/page-2.html'],
    ['publish.files_published', 1, '/page-3.html'],
    ['publish.files_renamed', 2, '/page-4.html'], // Of the others, some are renamed and some are not.
  ] as const)('at %s, passed %i times: none of them runs again', async (step, times, path) => {
    const home = await homes.make()
    const crawl = await home.add('--plugins', PLUGINS, `${site.url}${path}`)
    const runner = home.start(['run', '--exit-on-idle'], { env: failpoints(home, `${step}=stop@${times}`) })
    const worker = await eventually(() => fired(home).get(step))
    const ended = await endsOf(home)
    expect(Object.keys(ended)).not.toEqual([])
    process.kill(worker, 'SIGKILL')
    const { code, stderr } = await runner.finished()
    expect(code, stderr).toBe(0)
    await expectComplete(home, crawl)
    expect(await statuses(home, crawl)).toEqual(ALL_FINE)
    expect(await endsOf(home)).toMatchObject(ended)
  })

  it('in one millisecond: none of them seems to have written after the hashes', async () => {
    const home = await homes.make()
    await home.add('--plugins', PLUGINS, `${site.url}/page-1.html`)
    const step = 'publish.hosted_hook_ended'
    const runner = home.start(['run', '--exit-on-idle'], { env: failpoints(home, `${step}=stop`) })
    const worker = await eventually(() => fired(home).get(step))
    const log = await rowLog(home)
    const [, at] = readFileSync(log, 'utf8').match(/"ended_at":"([^"]+)"/)!
    writeFileSync(log, readFileSync(log, 'utf8').replace(/"ended_at":"[^"]+"/g, `"ended_at":"${at}"`))
    process.kill(worker, 'SIGKILL')
    expect((await runner.finished()).code).toBe(0)
    const hashed = "select end_ts from archive_result where plugin = 'hashes'"
    expect(await home.query(`select plugin from archive_result where start_ts > (${hashed})`)).toEqual([])
  })

  it('and was cut off with its machine: they run again, for their files may be lost', async () => {
    const home = await homes.make()
    const before = site.hits('/page-4.html')
    const crawl = await home.add('--plugins', PLUGINS, `${site.url}/page-4.html`)
    const step = 'publish.hosted_hook_ended'
    const runner = home.start(['run'], { env: failpoints(home, `${step}=stop`) })
    await eventually(() => fired(home).get(step))
    for (const { pid } of processesOf(home.dataDir)) process.kill(pid, 'SIGKILL')
    await runner.finished()
    const log = await rowLog(home)
    expect(Object.keys(await endsOf(home))).not.toEqual([])
    writeFileSync(log, readFileSync(log, 'utf8').replace(/"boot_id":"./g, '"boot_id":"-'))
    const { code, stderr } = await home.run(['run', '--exit-on-idle'])
    expect(code, stderr).toBe(0)
    await expectComplete(home, crawl)
    expect(await statuses(home, crawl)).toEqual(ALL_FINE)
    expect(site.hits('/page-4.html') - before).toBe(2)
  })
})

it.each(['publish.hosted_hook_ended', 'publish.files_published'])(
  'what staticfile printed is there for the hooks to come, although its worker died at %s',
  async (step) => {
    const home = await homes.make()
    hook(home, 'looks', '40_looks.sh', 'cat ../staticfile/stdout.log >seen.jsonl')
    const before = site.hits('/notes.txt')
    const crawl = await home.add('--plugins', 'staticfile,looks', `${site.url}/notes.txt`)
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], { env: failpoints(home, `${step}=kill9`) })
    expect(code, stderr).toBe(0)
    await expectComplete(home, crawl)
    expect([...fired(home).keys()]).toEqual([step])
    expect(site.hits('/notes.txt') - before).toBe(1)
    expect(await statuses(home, crawl)).toEqual({ staticfile: 'succeeded', looks: 'succeeded' })
  },
)

it('what a plugin published before its hook was renamed is not taken for the output of the new one', async () => {
  const home = await homes.make()
  const crawl = await home.add('--plugins', 'html,title', `${site.url}/page-1.html`)
  const step = 'publish.hosted_hook_ended'
  const runner = home.start(['run'], { env: failpoints(home, `${step}=stop`) })
  await eventually(() => fired(home).get(step))
  for (const { pid } of processesOf(home.dataDir)) process.kill(pid, 'SIGKILL')
  await runner.finished()
  const [page] = await home.query<{ id: string; output_dir: string }>('select id, output_dir from snapshot')
  mkdirSync(join(home.dataDir, page!.output_dir, 'title'))
  writeFileSync(join(home.dataDir, page!.output_dir, 'title', 'old.txt'), 'old')
  await home.query(
    `insert into archive_result (id, snapshot_id, plugin, hook_name, status, process_id, start_ts, end_ts, output_files,
       output_size)
     select $1, $2, 'title', 'on_Snapshot__53_title.js', 'succeeded', id, now(), now(), $3, 3 from process limit 1`,
    [uuidv7(), page!.id, JSON.stringify({ 'old.txt': { size: 3, mimetype: 'text/plain' } })],
  )
  const { code, stderr } = await home.run(['run', '--exit-on-idle'])
  expect(code, stderr).toBe(0)
  await expectComplete(home, crawl)
  const files = (await resultsOf(home, crawl)).map(({ hook_name, output_files }) => [
    hook_name,
    Object.keys(output_files),
  ])
  expect(files).toEqual([
    ['on_Snapshot__20_html.js', expect.arrayContaining(['output.html'])],
    ['on_Snapshot__53_title.js', ['old.txt']],
    ['on_Snapshot__54_title.js', ['title.txt']],
  ])
})

describe('a worker that dies when it publishes what ran beside a hook', () => {
  it('has written the end of that one before: it does not run again', async () => {
    const home = await homes.make()
    hook(home, 'beside', '30_beside.bg.sh', 'echo made >made.txt; echo ready; until [ -e "$DATA_DIR/ran" ]; do :; done')
    hook(home, 'once', '40_once.sh', 'echo made | tee made.txt >>"$DATA_DIR/ran"; sleep 0.5')
    hook(home, 'after', '50_after.sh', 'echo made >made.txt')
    const crawl = await home.add('--plugins', 'beside,once,after', `${site.url}/page-1.html`)
    const env = failpoints(home, 'publish.files_renamed=kill9@2')
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], { env })
    expect(code, stderr).toBe(0)
    await expectComplete(home, crawl)
    expect([...fired(home).keys()]).toEqual(['publish.files_renamed'])
    expect(await statuses(home, crawl)).toEqual({ beside: 'succeeded', once: 'succeeded', after: 'succeeded' })
    expect(readFileSync(join(home.dataDir, 'ran'), 'utf8')).toBe('made\n')
  })
})

describe('a worker that slept through a takeover when a row had ended', () => {
  it('writes no result', async () => {
    const home = await homes.make()
    const crawl = await home.add('--plugins', PLUGINS, `${site.url}/page-1.html`)
    const step = 'publish.hook_settled' // Its files are published.
    const runner = home.start(['run', '--exit-on-idle'], { env: failpoints(home, `${step}=stop`) })
    const worker = await eventually(() => fired(home).get(step))
    const written = `select count(*)::int from transition t join process p on p.id = t.process_id
      where model = 'archive_result' and event = 'succeed' and p.pid = $1`
    const before = await home.value(written, [worker]) // None, unless the row took long.
    await home.query('update runner_term set term = term + 1')
    process.kill(worker, 'SIGCONT')
    const { code, stderr } = await runner.finished()
    expect(code, stderr).toBe(0)
    expect(await home.value(written, [worker])).toBe(before)
    await expectComplete(home, crawl)
    expect(await statuses(home, crawl)).toEqual(ALL_FINE)
  })
})

describe('a server that died and lost what was written last, while the worker went on', () => {
  // Nothing of a page waits for the disk but its seal. The loss itself is made: its moment cannot be met.
  it.each(['publish.results_written', 'publish.page_written'])('at %s: the hooks run again', async (step) => {
    const home = await homes.make()
    const crawl = await home.add('--plugins', PLUGINS, `${site.url}/page-1.html`)
    const runner = home.start(['run', '--exit-on-idle'], { env: failpoints(home, `${step}=stop`) })
    const worker = await eventually(() => fired(home).get(step))
    await home.query(`update archive_result set status = 'queued', start_ts = null, end_ts = null, process_id = null,
      output_str = '', output_json = null, output_files = '{}', output_size = 0`)
    await home.query("delete from transition where model = 'archive_result'")
    process.kill(worker, 'SIGCONT')
    const { code, stderr } = await runner.finished()
    expect(code, stderr).toBe(0)
    await expectComplete(home, crawl)
    expect(await statuses(home, crawl)).toEqual(ALL_FINE)
  })
})

describe('a row of hooks that takes long', () => {
  it('says how far it is, and ends the one that runs out of time alone', async () => {
    const home = await homes.make()
    const crawl = await home.add('--plugins', PLUGINS, '-c', 'HTML_TIMEOUT=7', `${site.url}/drips`)
    const runner = home.start(['run', '--exit-on-idle'])
    await eventually(async () => {
      const { headers, html, title } = await statuses(home, crawl)
      return headers === 'succeeded' && html === 'started' && title === 'queued' ? true : undefined
    })
    const [page] = await home.query<{ output_dir: string }>('select output_dir from snapshot')
    expect(existsSync(join(home.dataDir, page!.output_dir, 'headers', 'headers.json'))).toBe(true)
    const { code, stderr } = await runner.finished()
    expect(code, stderr).toBe(0)
    const results = await resultsOf(home, crawl)
    expect(results.find(({ plugin }) => plugin === 'html')).toMatchObject({
      status: 'failed',
      output_str: expect.stringContaining('timed out') as string,
    })
    expect(results.filter(({ status }) => status === 'queued' || status === 'started')).toEqual([])
  })
})

describe('a page that needs more memory than a host may have', () => {
  it('costs the host its life: the hook runs again, alone, and its neighbours go on', async () => {
    const home = await homes.make()
    const crawl = await home.add(
      '--plugins',
      PLUGINS,
      ...['tables', 'book', 'page-1.html'].map((path) => `${site.url}/${path}`),
    )
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], { deadlineMs: 120_000 })
    expect(code, stderr).toBe(0)
    await expectComplete(home, crawl)
    const results = await resultsOf(home, crawl)
    expect(results.filter(({ status }) => !['succeeded', 'noresults'].includes(status))).toEqual([])
    const titles = await home.query<{ title: string }>('select title from snapshot order by title')
    expect(titles.map(({ title }) => title)).toEqual(['Book', 'Page 1', 'Tables'])
    expect(
      await home.value("select count(*)::int from process where process_type = 'hook' and exit_signal = 'SIGABRT'"),
      'it takes more than a host may have',
    ).toBeGreaterThan(0)
  })
})
