import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, pagesOf, resultsOf } from '../../support/archive.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { pidsOf } from '../../support/observer.ts'
import { eventually, type Running } from '../../support/program.ts'
import { sampled } from '../../support/seed.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(6)
})
afterAll(() => site.close())

describe.concurrent('a page whose hook kills its worker each time', () => {
  it('is given up with failed results after a few attempts, and the crawl is sealed with all its other pages', async () => {
    const home = await homes.make()
    home.install('kills_its_worker')
    const urls = [1, 2, 3, 4].map((number) => `${site.url}/page-${number}.html`)
    const crawl = await home.add('--plugins', 'html,hashes,kills_its_worker', '-c', 'KILLER_URL=page-2', ...urls)
    const { code, stderr } = await home.run(['run', '--exit-on-idle'])
    expect(code, stderr).toBe(0)
    const archived = await expectComplete(home, crawl)
    const poisoned = archived.find(({ url }) => url.endsWith('page-2.html'))!
    for (const result of await resultsOf(home, crawl)) {
      const expected = result.snapshot_id !== poisoned.id || result.plugin === 'html' ? 'succeeded' : 'failed'
      expect(`${result.plugin} ${result.status}`).toBe(`${result.plugin} ${expected}`)
      if (expected === 'failed') expect(result.output_str).toMatch(/given up: 5 attempts at this page/)
    }
    const killed = readFileSync(join(home.dataDir, 'killed.log'), 'utf8').trim().split('\n')
    expect(killed).toHaveLength(5)
    expect(new Set(killed).size).toBe(5)
  })
})

describe.concurrent('a page that cannot even be given up', () => {
  it('is sealed by its rows alone, and says so; the crawl is sealed with its other page', async () => {
    const home = await homes.make()
    home.install('kills_its_worker')
    const urls = [1, 2].map((number) => `${site.url}/page-${number}.html`)
    const crawl = await home.add('--plugins', 'html,kills_its_worker', '-c', 'KILLER_URL=page-2', ...urls)
    // One that dies while it is given up has been tried more often than one that dies in its hooks.
    expect((await home.run(['run', '--exclude', 'snapshot', '--exit-on-idle'])).code).toBe(0)
    await home.query("update snapshot set attempts = 6 where url like '%page-2.html'")
    const { code, stderr } = await home.run(['run', '--exit-on-idle'])
    expect(code, stderr).toBe(0)
    expect(stderr).toMatch(/given up: 5 attempts at this page/)
    const [other, page] = await pagesOf(home, crawl)
    expect(other).toMatchObject({ status: 'sealed', title: null, outcome: 'archived' })
    expect(page).toMatchObject({ status: 'sealed', outcome: 'failed', cause: expect.stringMatching(/^given up: 5/) })
    expect(readFileSync(join(home.dataDir, page!.output_dir, 'index.html'), 'utf8')).toContain('given up: 5 attempts')
    expect(await home.value('select status from crawl')).toBe('sealed')
    expect(existsSync(join(home.dataDir, 'killed.log')), 'no hook of it ran').toBe(false)
  })
})

describe.concurrent('a page beside one that kills their worker', () => {
  it('loses one attempt, and is archived', async () => {
    const home = await homes.make()
    const script = `#!/usr/bin/env bash
echo "$1" >>"$DATA_DIR/begun.log"
[[ "$1" == *page-2* ]] && kill -9 "$PPID"
sleep 3
echo done >done.txt
`
    hook(home, 'mixed', 'on_Snapshot__40_mixed.sh', script)
    const urls = [1, 2].map((number) => `${site.url}/page-${number}.html`)
    const crawl = await home.add('--plugins', 'mixed', ...urls)
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], {
      deadlineMs: 90_000,
      env: { MAX_SNAPSHOT_WORKERS: '2' },
    })
    expect(code, stderr).toBe(0)
    await expectComplete(home, crawl)
    const begun = readFileSync(join(home.dataDir, 'begun.log'), 'utf8')
    expect(begun.match(/page-2/g)).toHaveLength(5)
    expect(begun.match(/page-1/g)!.length).toBeLessThanOrEqual(2)
    const results = await resultsOf(home, crawl)
    expect(results.map(({ status }) => status).toSorted()).toEqual(['failed', 'succeeded'])
  })
})

describe.concurrent('a crawl that kills its worker each time', () => {
  it('is sealed with what it has and says so; another crawl goes on', async () => {
    const home = await homes.make()
    home.install('kills_its_crawl')
    const poisoned = await home.add(
      '--plugins',
      'html,kills_its_crawl',
      '-c',
      'KILLER_URL=page-1',
      `${site.url}/page-1.html`,
      `${site.url}/page-2.html`,
    )
    const other = await home.add(
      '--plugins',
      'html,kills_its_crawl',
      '-c',
      'KILLER_URL=page-1',
      `${site.url}/page-3.html`,
    )
    const { code, stderr } = await home.run(['run', '--exit-on-idle'])
    expect(code, stderr).toBe(0)
    await expectComplete(home, other)
    const killed = readFileSync(join(home.dataDir, 'killed.log'), 'utf8').trim().split('\n')
    expect(new Set(killed).size).toBe(10)
    expect(await home.query('select status, message from crawl where id = $1', [poisoned])).toEqual([
      { status: 'sealed', message: 'given up: 10 attempts at this crawl did not finish' },
    ])
    for (const page of await expectComplete(home, poisoned))
      expect(readFileSync(join(home.dataDir, page.output_dir, 'index.html'), 'utf8')).toMatch(/badge (failed|partial)/)
    const dir = await home.value<string>('select output_dir from crawl where id = $1', [poisoned])
    expect(readFileSync(join(home.dataDir, dir, 'index.html'), 'utf8')).toContain('given up: 10 attempts')
  })

  it('begins to count anew with each page that comes to its end', async () => {
    const home = await homes.make()
    const go = (page: number) => writeFileSync(join(home.dataDir, `go${page}`), '')
    const held = 'echo >>"$DATA_DIR/began"; until [ -e "$DATA_DIR/go$(wc -l <"$DATA_DIR/began")" ]; do sleep 0.05; done'
    hook(home, 'held', 'on_Snapshot__40_held.sh', `#!/usr/bin/env bash\n${held}\necho done >done.txt\n`)
    const urls = [1, 2, 3].map((number) => `${site.url}/page-${number}.html`)
    const crawl = await home.add('--plugins', 'held', ...urls)
    expect((await home.run(['run', '--exclude', 'snapshot', '--exit-on-idle'])).code).toBe(0)
    await home.query('update crawl set attempts = 9')
    const runner = home.start(['run', '--exit-on-idle'], { env: { MAX_SNAPSHOT_WORKERS: '1' } })
    await eventually(() => home.value('select attempts = 10 from crawl'))
    go(1)
    await eventually(() => home.value("select attempts = 1 and status = 'started' from crawl"))
    go(2)
    go(3)
    expect((await runner.finished()).code).toBe(0)
    await expectComplete(home, crawl)
  })
})

/** What a hook begins with that knows its worker, the crawl worker and the leader; and notes that it was there. */
const KNOWS_ALL = `#!/usr/bin/env bash
above() { cut -d" " -f4 "/proc/$1/stat"; }
worker=$PPID
crawler=$(above $worker)
leader=$(above $crawler)
`
const ON_PAGE_2 = '[[ "$1" == *page-2* ]] || { echo spared >spared.txt; exit 0; }\n'
const NOTE = 'echo "$leader" >>"$DATA_DIR/killed.log"\n'
const killsIn = (home: TestHome) => readFileSync(join(home.dataDir, 'killed.log'), 'utf8').trim().split('\n').length

/** Puts one hook into a plugin of the data dir. */
function hook(home: TestHome, plugin: string, file: string, script: string): void {
  const dir = join(home.dataDir, 'plugins', plugin)
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, file), script)
  chmodSync(join(dir, file), 0o755)
}

/** Starts runner after runner, as a supervisor does, until the crawl is sealed. Throws when so many were not enough. */
async function supervised(home: TestHome, crawl: string, most: number): Promise<void> {
  for (let start = 0; start < most; start += 1) {
    await home.run(['run', '--exit-on-idle'])
    if ((await home.value('select status from crawl where id = $1', [crawl])) === 'sealed') return
  }
  throw new Error(
    `not sealed after ${most} starts: ` +
      `${JSON.stringify(await home.query('select url, status, attempts from snapshot'))}`,
  )
}

const MURDERS: Readonly<Record<string, { readonly file: string; readonly script: string }>> = {
  'its runner, asking twice (TERM)': {
    file: 'on_Snapshot__40_murder.sh',
    script: 'while kill -TERM $leader 2>/dev/null; do sleep 0.3; done\nsleep 1000\n',
  },
  'its runner (KILL)': { file: 'on_Snapshot__40_murder.sh', script: 'kill -9 $leader\nsleep 1000\n' },
  'its runner in the background, asking once (TERM)': {
    file: 'on_Snapshot__30_murder.bg.sh',
    // Ready once its worker has heard of it: what else ended would be progress.
    script:
      'asked() { grep -c "SIGTERM: draining" "$DATA_DIR/logs/runner.log"; }\nbefore=$(asked)\nkill -TERM $leader\n' +
      'until [ "$(asked)" -gt "$before" ]; do sleep 0.05; done\nsleep 0.5\necho ready\nsleep 1000\n',
  },
  'all above it (KILL)': {
    file: 'on_Snapshot__40_murder.sh',
    script: 'kill -9 $leader $crawler $worker\nsleep 1000\n',
  },
  'its crawl worker (KILL)': { file: 'on_Snapshot__40_murder.sh', script: 'kill -9 $crawler\nsleep 1000\n' },
}

describe.concurrent('a page with a hook that ends, each time,', () => {
  it.each(sampled(Object.entries(MURDERS), 2, 'murders'))(
    '%s is given up after a few starts, and says why',
    async (_whom, { file, script }) => {
      const home = await homes.make()
      hook(home, 'murder', file, `${KNOWS_ALL}${ON_PAGE_2}${NOTE}${script}`)
      const urls = [1, 2].map((number) => `${site.url}/page-${number}.html`)
      const crawl = await home.add('--plugins', 'html,murder,title,hashes', ...urls)
      await supervised(home, crawl, 9)
      const archived = await expectComplete(home, crawl)
      const poisoned = archived.find(({ url }) => url.endsWith('page-2.html'))!
      const results = await resultsOf(home, crawl)
      for (const result of results.filter(({ snapshot_id }) => snapshot_id !== poisoned.id))
        expect(result.status).toBe('succeeded')
      expect(results.find(({ snapshot_id, plugin }) => snapshot_id === poisoned.id && plugin === 'html')?.status).toBe(
        'succeeded',
      )
      expect(
        results.find(({ snapshot_id, plugin }) => snapshot_id === poisoned.id && plugin === 'murder'),
      ).toMatchObject({
        status: 'failed',
        output_str: expect.stringMatching(/^given up: 5 attempts at this page did not finish/),
      })
      // The first attempt may have brought another hook to its end, and one may have ended before its hook began.
      expect(killsIn(home)).toBeGreaterThanOrEqual(4)
      expect(killsIn(home)).toBeLessThanOrEqual(6)
    },
  )
})

describe.concurrent('a crawl with a set-up hook that kills its runner each time', () => {
  it('is sealed after a few starts, and says why', async () => {
    const home = await homes.make()
    hook(
      home,
      'murder',
      'on_CrawlSetup__10_murder.sh',
      `${KNOWS_ALL.replace('leader=$(above $crawler)', 'leader=$crawler')}${NOTE}kill -9 $leader\nsleep 1000\n`,
    )
    const crawl = await home.add('--plugins', 'html,murder', `${site.url}/page-1.html`)
    await supervised(home, crawl, 13)
    expect(await home.value('select message from crawl')).toBe('given up: 10 attempts at this crawl did not finish')
    expect(killsIn(home)).toBe(10)
  })
})

describe.concurrent('a page that an operator keeps from its end', () => {
  /** Once more than a page is attempted before it is given up. */
  const TIMES = 6
  /** A hook that says that it has begun, and runs until this file is there. */
  const until = (go: string) =>
    `#!/usr/bin/env bash\necho "$ARCHIVEBOX_RUNNER_ID" >>"$DATA_DIR/began.log"\n` +
    `until [ -e "$DATA_DIR/${go}" ]; do sleep 0.05; done\n`
  const began = (home: TestHome) => {
    try {
      return readFileSync(join(home.dataDir, 'began.log'), 'utf8').trim().split('\n').length
    } catch {
      return 0
    }
  }

  it.each([
    ['hand over', async () => {}],
    [
      'do not hand over, and are killed',
      async (home: TestHome) => {
        for (const pid of await pidsOf(home, 'crawl')) process.kill(pid, 'SIGSTOP') // Its leader waits for it.
      },
    ],
  ])('by newer and newer runners, whose elders %s, is archived when they let it', async (_what, before) => {
    const home = await homes.make()
    hook(home, 'held', 'on_Snapshot__40_held.sh', `${until('go')}echo done >done.txt\n`)
    const crawl = await home.add('--plugins', 'held', `${site.url}/page-1.html`)
    const runners: Running[] = []
    for (let number = 1; number <= TIMES; number += 1) {
      runners.push(home.start(['run', '--handoff-grace', '1', ...(number === TIMES ? ['--exit-on-idle'] : [])]))
      await eventually(() => began(home) === number)
      if (number < TIMES) await before(home)
    }
    writeFileSync(join(home.dataDir, 'go'), '')
    const all = await Promise.all(runners.map((runner) => runner.finished()))
    expect(all.at(-1)!.code, all.at(-1)!.stderr).toBe(0)
    await expectComplete(home, crawl)
    expect((await resultsOf(home, crawl))[0]).toMatchObject({ status: 'succeeded' })
  })

  it('by signals, which let the hook that runs come to its end, is archived a hook at a time', async () => {
    const home = await homes.make()
    const NUMBERS = Array.from({ length: TIMES }, (_, index) => index + 1)
    for (const number of NUMBERS)
      hook(home, `step${number}`, `on_Snapshot__4${number}_step${number}.sh`, until(`go${number}`))
    hook(home, 'serves', 'on_CrawlSetup__10_serves.bg.sh', '#!/usr/bin/env bash\necho ready\nsleep 1000\n')
    const crawl = await home.add(
      '--plugins',
      ['serves', ...NUMBERS.map((number) => `step${number}`)].join(','),
      `${site.url}/page-1.html`,
    )
    for (const number of NUMBERS.slice(0, -1)) {
      const runner = home.start(['run'])
      await eventually(() => began(home) === number)
      runner.signal('SIGTERM')
      await runner.says(/draining/)
      await new Promise((resolve) => setTimeout(resolve, 500)) // Its worker has heard of it.
      writeFileSync(join(home.dataDir, `go${number}`), '')
      expect((await runner.finished()).code).toBe(0)
      for (const table of ['snapshot', 'crawl'])
        expect(await home.value(`select attempts from ${table}`), table).toBe(0)
    }
    writeFileSync(join(home.dataDir, `go${TIMES}`), '')
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    await expectComplete(home, crawl)
    expect((await resultsOf(home, crawl)).map(({ status }) => status)).toEqual(NUMBERS.map(() => 'noresults'))
  })
})
