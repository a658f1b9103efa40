import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pagesOf, resultsOf } from '../../support/archive.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(2)
})
afterAll(() => site.close())

/**
 * A crawl of one page with a hook that fails so often in a way that may pass, and with `slow`, which comes later and is
 * fine.
 */
async function queued(
  times: number,
  settings: Readonly<Record<string, string>>,
): Promise<{ home: TestHome; id: string }> {
  const home = await homes.make()
  home.install('temporary', 'slow')
  const all = { TEMPORARY_TIMES: String(times), SLOW_SECONDS: '0', ...settings }
  const config = Object.entries(all).flatMap(([key, value]) => ['-c', `${key}=${value}`])
  return { home, id: await home.add('--plugins', 'temporary,slow', ...config, `${site.url}/page-1.html`) }
}

async function run(home: TestHome): Promise<string> {
  const { code, stderr } = await home.run(['run', '--exit-on-idle'])
  expect(code, stderr).toBe(0)
  return stderr
}

const attempts = async (home: TestHome, id: string) =>
  (await resultsOf(home, id)).map(({ plugin, attempt, status }) => `${plugin} ${attempt} ${status}`).sort()

/** Makes due what waits. */
async function due(home: TestHome): Promise<void> {
  for (const table of ['snapshot', 'crawl'])
    await home.query(`update ${table} set retry_at = now() where status <> 'sealed'`)
}

describe.concurrent('a hook that fails temporarily', () => {
  it.each(['exit', 'record'])(
    '(said by its %s) is tried again, with its earlier attempts kept; what comes after it runs once, with its output',
    async (how) => {
      const { home, id } = await queued(2, { HOOK_RETRY_SECONDS: '0.4', TEMPORARY_HOW: how })
      await run(home)
      expect(await attempts(home, id)).toEqual([
        'slow 1 succeeded',
        'temporary 1 failed',
        'temporary 2 failed',
        'temporary 3 succeeded',
      ])
      const [page] = await pagesOf(home, id)
      expect(page!.status).toBe('sealed')
      const dir = join(home.dataDir, page!.output_dir)
      expect(readdirSync(join(dir, 'temporary'))).toEqual(['whole.txt'])
      expect(readdirSync(join(dir, '.attempts'))).toHaveLength(2)
      const [first, ...rest] = readFileSync(join(home.dataDir, `temporary.${page!.id}`), 'utf8')
        .trim()
        .split('\n')
        .map(Number)
      // 0.4 s, then twice that.
      expect(rest[0]! - first!).toBeGreaterThan(0.39)
      expect(rest[1]! - rest[0]!).toBeGreaterThan(0.79)
      const output = (await resultsOf(home, id)).find(
        ({ attempt, plugin }) => plugin === 'temporary' && attempt === 1,
      )!.output_str
      expect(output).toBe(how === 'exit' ? 'come back later' : 'HTTP 503')
    },
  )

  it('leaves its page and its crawl to nobody while they wait, and the runner may leave', async () => {
    const { home, id } = await queued(1, { HOOK_RETRY_SECONDS: '900' })
    expect(await run(home)).toContain('nothing left to do')
    expect(await attempts(home, id)).toEqual(['slow 1 queued', 'temporary 1 backoff'])
    const waits =
      "claimed_by, attempts, status, retry_at between now() + interval '14 min' and now() + interval '15 min' as waits"
    const waiting = { claimed_by: null, attempts: 0, status: 'started', waits: true }
    for (const table of ['snapshot', 'crawl'])
      expect(await home.query(`select ${waits} from ${table}`), table).toEqual([waiting])
    expect(
      await home.value(
        "select end_ts is null and output_str = 'come back later' from archive_result where status = 'backoff'",
      ),
    ).toBe(true)

    await due(home)
    await run(home)
    expect(await attempts(home, id)).toEqual(['slow 1 succeeded', 'temporary 1 failed', 'temporary 2 succeeded'])
    expect(await home.query('select status from crawl')).toEqual([{ status: 'sealed' }])
  })

  it('is given up after HOOK_RETRIES further attempts, and the page goes on without it', async () => {
    const { home, id } = await queued(99, { HOOK_RETRY_SECONDS: '0', HOOK_RETRIES: '2' })
    await run(home)
    expect(await attempts(home, id)).toEqual([
      'slow 1 succeeded',
      'temporary 1 failed',
      'temporary 2 failed',
      'temporary 3 failed',
    ])
    expect(await home.query('select status from crawl')).toEqual([{ status: 'sealed' }])
  })

  it('has its further attempts anew when somebody asks for a retry', async () => {
    const { home, id } = await queued(3, { HOOK_RETRY_SECONDS: '0', HOOK_RETRIES: '1' })
    await run(home)
    expect((await home.run(['crawl', 'retry', '--failed', id])).code).toBe(0)
    await run(home)
    expect((await attempts(home, id)).filter((line) => line.startsWith('temporary'))).toEqual([
      'temporary 1 failed',
      'temporary 2 failed',
      'temporary 3 failed',
      'temporary 4 succeeded',
    ])
  })

  it('is skipped when its crawl is cancelled meanwhile', async () => {
    const { home, id } = await queued(1, { HOOK_RETRY_SECONDS: '900' })
    await run(home)
    expect((await home.run(['crawl', 'cancel', id])).code).toBe(0)
    expect(await attempts(home, id)).toEqual(['slow 1 skipped', 'temporary 1 skipped'])
    const [page] = await pagesOf(home, id)
    expect(existsSync(join(home.dataDir, page!.output_dir, 'index.html'))).toBe(true)
  })

  it('keeps what it waited for when the crawl is paused and resumed', async () => {
    const { home, id } = await queued(1, { HOOK_RETRY_SECONDS: '900' })
    await run(home)
    for (const verb of ['pause', 'resume']) expect((await home.run(['crawl', verb, id])).code).toBe(0)
    await run(home)
    expect(await attempts(home, id)).toEqual(['slow 1 succeeded', 'temporary 1 failed', 'temporary 2 succeeded'])
  })

  it('does not keep other pages of its crawl waiting', async () => {
    const { home, id } = await queued(0, { HOOK_RETRY_SECONDS: '900' })
    await home.query(`update crawl set urls = urls || e'\\n' || $1`, [`${site.url}/page-2.html`])
    await run(home)
    expect(await home.query('select status from snapshot')).toEqual([{ status: 'sealed' }, { status: 'sealed' }])
    expect(await attempts(home, id)).toHaveLength(4)
  })
})
