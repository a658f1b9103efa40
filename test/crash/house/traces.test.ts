// Each life of a page is a text of its own, so that whoever changes a step sees which ones change with it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Failpoint } from '../../../src/base/failpoint.ts'
import { failpoints } from '../../support/failpoints.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { eventually } from '../../support/program.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

/** What befalls a page on its way. */
interface Life {
  readonly plugins: readonly string[]
  /** What befalls its workers, as ARCHIVEBOX_FAILPOINTS says it. */
  readonly also?: string
  readonly settings?: Readonly<Record<string, string>>
  readonly path?: string
  readonly before?: (home: TestHome) => Promise<unknown>
  /** A runner is stopped in the middle of a hook, and another one goes on. */
  readonly isStopped?: true
}

const OURS = ['headers', 'html', 'title', 'hashes']
const MIXED = ['headers', 'exit_1', 'oracle', 'title', 'hashes']
const BACKGROUND = ['headers', 'order_bg', 'html', 'hashes']

const LIVES: Readonly<Record<string, Life>> = {
  'hooks of users between ours': { plugins: MIXED },
  'none but our own hooks': { plugins: OURS },
  'hooks of users one after another': { plugins: ['order_a', 'order_b', 'exit_1', 'oracle'] },
  'background hooks': { plugins: BACKGROUND },
  'background hooks of one plugin': { plugins: ['headers', 'stages', 'hashes'] },
  'a hook that runs out of time': { plugins: MIXED, settings: { ORACLE_SECONDS: '30', ORACLE_TIMEOUT: '0.3' } },
  'a hook that fails for now': { plugins: ['headers', 'temporary', 'hashes'], settings: { TEMPORARY_TIMES: '1' } },
  'a hook whose plugin is missing': { plugins: ['headers', 'needs_slow', 'hashes'] },
  'a page that nobody answers for': { plugins: OURS, path: 'nobody' },
  'a page that is a file': {
    plugins: ['headers', 'staticfile', 'parse_txt_urls', 'hashes'],
    path: 'notes.txt',
  },
  'a page that may not be asked for': {
    plugins: OURS,
    settings: { ROBOTS_TXT: 'True' },
    path: 'forbidden/page.html',
  },
  'a worker lost when a hook was settled': { plugins: MIXED, also: 'publish.hook_settled=kill9@2' },
  'a worker lost before results are written': { plugins: MIXED, also: 'publish.files_published=kill9@2' },
  'a worker lost with ends in the log': { plugins: OURS, also: 'publish.hosted_hook_ended=kill9' },
  'a worker lost when it had published': { plugins: OURS, also: 'publish.hook_settled=kill9' },
  'a worker lost before the seal': { plugins: OURS, also: 'publish.page_written=kill9' },
  'a worker lost beside a background hook': { plugins: BACKGROUND, also: 'publish.files_published=kill9@2' },
  'a page that is given up': {
    plugins: MIXED,
    before: (home) => home.query('alter table snapshot alter attempts set default 5'),
  },
  'a stop in the middle': { plugins: MIXED, isStopped: true },
}

/** What the workers of pages pass, and nobody beside them. */
const OF_PAGES: readonly Failpoint[] = [
  'claim.results_prepared',
  'claim.snapshot_released',
  'publish.background_ended_early',
  'publish.background_reaped',
  'publish.failed_set_aside',
  'publish.files_aside',
  'publish.files_published',
  'publish.files_renamed',
  'publish.hook_given_up',
  'publish.hook_settled',
  'publish.hook_settling',
  'publish.hosted_hook_ended',
  'publish.late_hook_killed',
  'publish.page_findings_added',
  'publish.page_sealed',
  'publish.page_written',
  'publish.results_written',
  'spawn.hook_recorded',
]

const FIXTURES = [
  'exit_1',
  'oracle',
  'stages',
  'order_a',
  'order_b',
  'order_bg',
  'leaves_early',
  'temporary',
  'needs_slow',
]
/** No server listens there. */
const NOBODY = 'http://127.0.0.1:9/'

const WRITTEN: Failpoint = 'publish.results_written'

const homes = useHomes({ MAX_SNAPSHOT_WORKERS: '1' })
let site: Site
beforeAll(async () => {
  site = await startSite({ ...pages(1), '/robots.txt': 'User-agent: *\nDisallow: /forbidden/' })
})
afterAll(() => site.close())

/** Archives a page. @returns the steps that its workers passed, and how its hooks ended */
async function lived({ plugins, also = '', settings = {}, path = 'page-1.html', before, isStopped }: Life) {
  const home = await homes.make(...FIXTURES)
  const given = Object.entries({ ORACLE_SECONDS: '0.05', HOOK_RETRY_SECONDS: '0', ...settings })
  const url = path === 'nobody' ? NOBODY : `${site.url}/${path}`
  await home.add('--plugins', plugins.join(','), ...given.flatMap(([name, value]) => ['-c', `${name}=${value}`]), url)
  await before?.(home)
  const file = join(home.dataDir, 'passed.log')
  const env = { ...failpoints(home, also), ARCHIVEBOX_FAILPOINTS_PASSED: file }
  if (isStopped) {
    home.hold('oracle')
    const runner = home.start(['run'], { env })
    await eventually(() =>
      home.value("select count(*) > 0 from archive_result where plugin = 'oracle' and status = 'started'"),
    )
    runner.signal('SIGTERM')
    await eventually(() => /draining/.test(runner.stderr))
    home.letGo('oracle')
    await runner.finished()
  }
  const { code, stderr } = await home.run(['run', '--exit-on-idle'], { env })
  expect(code, stderr).toBe(0)
  const results = await home.query<{ hook: string; status: string; output_str: string }>(
    'select plugin || $1 || hook_name as hook, status, output_str from archive_result order by hook_name, attempt',
    ['/'],
  )
  const steps = readFileSync(file, 'utf8').split('\n')
  const ofPages = steps.filter((name) => (OF_PAGES as readonly string[]).includes(name))
  // A line for each write of results.
  const lines = ofPages.map((name) => (name === WRITTEN ? `${name}\n` : `${name} `)).join('')
  const ends = results.map(({ hook, status, output_str }) => `${hook} ${status} ${output_str.split(',')[0]}`.trim())
  return `\n${[...ends, '', lines]
    .join('\n')
    .replaceAll(/(publish|claim|spawn)\./g, '')
    .replaceAll(/ \n/g, '\n')}`
}

// A row of our own hooks that takes more than a second writes its progress in between.
describe('the steps of a page', { retry: 2 }, () => {
  it.concurrent.for(Object.keys(LIVES))('are the known ones: %s', async (name, { expect }) => {
    expect(await lived(LIVES[name]!)).toMatchSnapshot()
  })
})
