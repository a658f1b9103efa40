import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, pagesOf, resultsOf } from '../../support/archive.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(4)
})
afterAll(() => site.close())

const url = (number: number) => `${site.url}/page-${number}.html`

/** `run -` with this on stdin: its exit code must be 0. */
async function runWith(home: TestHome, input: string, ...args: string[]) {
  const { code, stdout, stderr } = await home.run(['run', '-', ...args], { input, env: { WGET_ENABLED: 'false' } })
  expect(code, stderr).toBe(0)
  return {
    records: stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Record<string, unknown>),
    stdout,
    stderr,
  }
}

const line = (record: object) => `${JSON.stringify(record)}\n`

describe('run -', () => {
  it('archives URLs and Snapshot records as one crawl, prints it, and leaves', async () => {
    const home = await homes.make()
    const { records } = await runWith(home, `# mine\n${url(1)}\n\n${line({ type: 'Snapshot', url: url(2) })}`)
    expect(records).toMatchObject([{ type: 'Crawl', status: 'queued', urls: [url(1), url(2)] }])
    expect(await expectComplete(home, String(records[0]!['id']))).toHaveLength(2)
  })

  it('makes a crawl of each Crawl record without an id, with its depth, tags and label', async () => {
    const home = await homes.make()
    const { records } = await runWith(
      home,
      line({ type: 'Crawl', urls: [url(1)], max_depth: 1, max_urls: 2, tags: ['a'], label: 'mine' }),
    )
    expect(records).toMatchObject([{ max_depth: 1, max_urls: 2, tags: ['a'], label: 'mine' }])
    expect(await expectComplete(home, String(records[0]!['id']))).toHaveLength(2)
  })

  it('runs failed results again that result list prints, and nothing else', async () => {
    const home = await homes.make()
    home.install('exit_1', 'slow')
    const crawl = await home.add('--plugins', 'exit_1,slow', url(1), url(2))
    const other = await home.add('--plugins', 'slow', url(3))
    await home.run(['run', '--exit-on-idle', '--crawl-id', crawl])
    const { stdout } = await home.run(['result', 'list', '--status', 'failed'])
    const [first] = stdout.split('\n')
    const { records } = await runWith(home, `${first}\n`)
    expect(records.map(({ type }) => type)).toEqual(['Crawl', 'ArchiveResult'])
    const attempts = (await resultsOf(home, crawl)).map(({ plugin, attempt }) => `${plugin} ${attempt}`).sort()
    expect(attempts).toEqual(['exit_1 1', 'exit_1 1', 'exit_1 2', 'slow 1', 'slow 1'])
    expect(await home.value('select status from crawl where id = $1', [other])).toBe('queued')
  })

  it('takes crawls and snapshots by their records, and snapshots by their ids: paused ones go on, sealed ones are retried', async () => {
    const home = await homes.make()
    home.install('exit_1')
    const paused = await home.add('--plugins', 'html', url(1))
    const failed = await home.add('--plugins', 'exit_1', url(2), url(3))
    await home.run(['crawl', 'pause', paused])
    await home.run(['run', '--exit-on-idle'])
    const [second] = await pagesOf(home, failed)
    await runWith(home, `${line({ type: 'Crawl', id: paused })}${second!.id}\n`)
    await expectComplete(home, paused)
    expect((await resultsOf(home, failed)).map(({ attempt }) => attempt).sort()).toEqual([1, 1, 2])
  })

  it('hands records of another type on, and leaves at once when there is nothing for it', async () => {
    const home = await homes.make()
    const tag = line({ type: 'Tag', name: 'a' })
    const { stdout, stderr } = await runWith(home, tag)
    expect(stdout).toBe(tag)
    expect(stderr).toContain('nothing to run')
    expect((await runWith(home, '')).stdout).toBe('')
    expect(await home.query("select id from process where process_type = 'orchestrator'")).toEqual([])
  })

  it('says which are not there, and goes on with the others', async () => {
    const home = await homes.make()
    const gone = line({ type: 'Crawl', id: '01994f6e-0c1a-7c3e-9d55-0123456789ab' })
    const { stderr, records } = await runWith(home, gone + url(1))
    expect(stderr).toContain('1 of these do not exist')
    await expectComplete(home, String(records[0]!['id']))
  })

  it.each([
    ['{"type": "Crawl"', [], /^error: not a record/],
    ['{"type": "Snapshot"}', [], /^error: a record without an id, or a URL/],
    ['no url', [], /^error: /],
    [
      '{"type": "Crawl", "urls": ["http://127.0.0.1:1/"]}\n{"type": "Crawl", "urls": ["http://127.0.0.1:1/"], "max_depth": 9}',
      [],
      /^error: max_depth/,
    ],
    ['', ['--crawl-id', '01994f6e-0c1a-7c3e-9d55-0123456789ab'], /^error: with -, the records on stdin choose/],
    ['http://127.0.0.1:1/', ['--maintenance-only'], /^error: - works on the records on stdin/],
  ])('%j %j is a mistake: it leaves with 2, and nothing is queued', async (input, args, message) => {
    const home = await homes.make()
    const { code, stderr } = await home.run(['run', '-', ...args], { input })
    expect(code, stderr).toBe(2)
    expect(stderr).toMatch(message)
    expect(await home.query('select id from crawl')).toEqual([])
  })

  it('is the only argument that run takes', async () => {
    const home = await homes.make()
    const { code, stderr } = await home.run(['run', 'everything'])
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^error: run takes no argument but -, not "everything"/),
    })
  })
})
