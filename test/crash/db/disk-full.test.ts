import { execFileSync, spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, resultsOf } from '../../support/archive.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { sealedCrawl, sealedPages } from '../../support/observer.ts'
import { perTest } from '../../support/per-test.ts'
import { hook } from '../../support/plugins.ts'
import { eventually } from '../../support/program.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

const PAGES = 6
const homes = useHomes()
const mounts = perTest<string[]>(
  () => [],
  (dirs) => {
    for (const dir of dirs) execFileSync('umount', ['-l', dir])
  },
)
let site: Site

beforeAll(async () => {
  site = await startSite(pages(PAGES))
})
afterAll(() => site.close())

/** Gives the archive of a home a small disk of its own, for so many files; false where we may not. */
function smallDisk(home: TestHome, files = 10_000): boolean {
  const dir = join(home.dataDir, 'archive')
  const size = `size=24m,nr_inodes=${files}`
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', size, 'tmpfs', dir]).status !== 0) return false
  mounts().push(dir)
  return true
}

const filler = (home: TestHome) => join(home.dataDir, 'archive', 'filler')

/** Writes until nothing more fits, or so many MB. */
function fill(home: TestHome, mb = 1_000): void {
  const file = openSync(filler(home), 'a')
  const bytes = Buffer.alloc(4_096)
  try {
    for (let written = 0; written < mb * 1_000_000; written += bytes.length) writeSync(file, bytes)
  } catch {
    // Full.
  } finally {
    closeSync(file)
  }
}

/** Makes as many files as fit, or so many. */
function fillWithFiles(home: TestHome, most = Number.POSITIVE_INFINITY): void {
  mkdirSync(filler(home))
  try {
    for (let made = 0; made < most; made += 1) writeFileSync(join(filler(home), String(made)), '')
  } catch {
    // Full.
  }
}

describe.concurrent('the disk of the archive', () => {
  it.for([
    ['bytes', /\d MB free in .*archive: below 10 MB \(DISK_FLOOR\) no page is started/],
    ['files', /room for \d+ more files in .*archive \(df -i\): below 1000 no page is started/],
  ] as const)(
    'with few %s left begins no page, which status says, and goes on when there is room',
    async ([what, why], { skip }) => {
      const home = await homes.make()
      if (!smallDisk(home)) skip('may not mount a small disk here')
      const env = { DISK_FLOOR: '10' }
      if (what === 'bytes') fill(home, 16)
      else fillWithFiles(home, 9_500)
      const crawl = await home.add('--depth', '1', '--plugins', 'html,parse_html_urls', `${site.url}/`)
      const runner = home.start(['run', '--exit-on-idle'], { env })
      await runner.says(why)
      // While the crawl begins nothing is due, so nothing is blocked yet.
      await eventually(async () => {
        const { stdout } = await home.run(['status', '--json'], { env })
        return /no page is started/.test((JSON.parse(stdout) as { blocked_reason: string | null }).blocked_reason ?? '')
      })
      expect(await home.value("select count(*)::int from snapshot where status <> 'queued'")).toBe(0)
      rmSync(filler(home), { recursive: true })
      const { code, stderr } = await runner.finished()
      expect(code, stderr).toBe(0)
      expect(stderr).toMatch(/there is space on the disk again/)
      expect(await expectComplete(home, crawl)).toHaveLength(PAGES + 1)
    },
  )

  it.for([
    ['bytes', fill],
    ['files', fillWithFiles],
  ] as const)(
    'without %s left in the middle of pages costs time alone: they are put back, and done when there is room',
    async ([, fillUp], { skip }) => {
      const home = await homes.make()
      if (!smallDisk(home)) skip('may not mount a small disk here')
      // The pages that the first one leads to wait for a full disk.
      const hold = join(home.dataDir, 'hold')
      const waits = 'while [[ "$1" == *page-* && -e "$DATA_DIR/hold" ]]; do sleep 0.05; done; echo waited >waited.txt'
      hook(home, 'waits', '41_waits.sh', waits)
      writeFileSync(hold, '')
      const plugins = 'waits,html,parse_html_urls,hashes'
      const crawl = await home.add('--depth', '1', '--plugins', plugins, `${site.url}/`)
      const runner = home.start(['run'], { env: { DISK_FLOOR: '0' } })
      await sealedPages(home, 1)
      fillUp(home)
      rmSync(hold)
      await runner.says(/ENOSPC|full disk/)
      const sealed = await home.value<number>("select count(*)::int from snapshot where status = 'sealed'")
      expect(sealed).toBeLessThan(PAGES + 1)
      await eventually(() => home.value('select count(*) = 0 from snapshot where claimed_by is not null'))
      expect(await home.value("select count(*)::int from archive_result where status = 'failed'")).toBe(0)
      rmSync(filler(home), { recursive: true })
      await sealedCrawl(home, crawl)
      runner.signal('SIGTERM')
      const { code, stderr } = await runner.finished()
      expect(code, stderr).toBe(0)
      expect(await expectComplete(home, crawl)).toHaveLength(PAGES + 1)
      expect((await resultsOf(home, crawl)).filter(({ status }) => status !== 'succeeded')).toEqual([])
      expect(await home.value('select max(attempts) from snapshot')).toBeLessThanOrEqual(1)
    },
  )

  it('full when a hook has ended costs that hook another run, and none is settled without its files', async ({
    skip,
  }) => {
    const home = await homes.make()
    if (!smallDisk(home)) skip('may not mount a small disk here')
    hook(home, 'later', '41_later.sh', 'echo later >later.txt') // With it, what is published is a copy.
    const fired = mkdtempSync(join(home.dataDir, 'fired-'))
    const env = {
      DISK_FLOOR: '0',
      ARCHIVEBOX_FAILPOINTS: 'publish.hosted_hook_ended=sleep:3000',
      ARCHIVEBOX_FAILPOINTS_FIRED: fired,
    }
    const crawl = await home.add('--depth', '0', '--plugins', 'html,later,parse_html_urls', `${site.url}/`)
    const runner = home.start(['run', '--exit-on-idle'], { env })
    await eventually(() => readdirSync(fired).length > 0)
    fill(home)
    await runner.says(/ENOSPC|full disk/)
    rmSync(filler(home))
    expect((await runner.finished()).code).toBe(0)
    await expectComplete(home, crawl)
    const results = await resultsOf(home, crawl)
    expect(results.map(({ plugin, status, output_files }) => [plugin, status, Object.keys(output_files)])).toEqual([
      ['html', 'succeeded', ['output.html']],
      ['later', 'succeeded', ['later.txt']],
      ['parse_html_urls', 'succeeded', ['urls.jsonl']],
    ])
  })

  it('filled by a hook is empty again after it: the hook failed, whatever it says, and the others run', async ({
    skip,
  }) => {
    const home = await homes.make()
    if (!smallDisk(home)) skip('may not mount a small disk here')
    home.install('fills_disk', 'fills_half')
    const plugins = 'fills_disk,fills_half,html,hashes'
    const crawl = await home.add('--depth', '0', '--plugins', plugins, `${site.url}/`)
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], { env: { DISK_FLOOR: '10' } })
    expect(code, stderr).toBe(0)
    await expectComplete(home, crawl)
    const results = await resultsOf(home, crawl)
    expect(Object.fromEntries(results.map(({ plugin, status, output_str }) => [plugin, [status, output_str]]))).toEqual(
      {
        fills_disk: ['failed', 'it filled the disk'],
        fills_half: ['failed', 'cannot publish its files: no space is left for them'],
        html: ['succeeded', 'html/output.html'],
        hashes: ['succeeded', expect.stringMatching(/^1 files, /)],
      },
    )
  })
})
