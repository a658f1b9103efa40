import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, type Result, resultsOf } from '../../support/archive.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { openRows, sealedCrawl } from '../../support/observer.ts'
import { plugin } from '../../support/plugins.ts'
import { processesOf } from '../../support/processes.ts'
import { eventually, NODE, PROGRAM } from '../../support/program.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
const GOOD = `echo '{"type": "ArchiveResult", "status": "succeeded", "output_str": "fine"}'`
let site: Site

beforeAll(async () => {
  site = await startSite(pages(2))
})
afterAll(() => site.close())

interface Ran {
  readonly home: TestHome
  readonly result: Result
  readonly stderr: string
}

/** Archives a page with this one hook, and headers before it; the page is complete whatever the hook did. */
async function ran(script: string, settings: Record<string, string> = {}): Promise<Ran> {
  const home = await homes.make()
  plugin(home, 'hostile', script)
  const env = Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`])
  const crawl = await home.add('--plugins', 'headers,hostile', ...env, `${site.url}/page-1.html`)
  const { code, stderr } = await home.run(['run', '--exit-on-idle'])
  expect(code, stderr).toBe(0)
  await expectComplete(home, crawl)
  const results = await resultsOf(home, crawl)
  expect(results.find(({ plugin }) => plugin === 'headers')?.status).toBe('succeeded')
  return { home, stderr, result: results.find((result) => result.plugin === 'hostile')! }
}

const rssOf = (pid: number) => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

describe('a hook that', () => {
  it('starts a runner does not end the one that it works for: it is refused, and says so', async () => {
    const home = await homes.make()
    plugin(
      home,
      'hostile',
      `"${NODE}" "${PROGRAM}" --database-url "${home.databaseUrl}" run 2>refusal.txt; ` +
        `echo "exit $?" >exit.txt\n${GOOD}`,
    )
    const crawl = await home.add('--plugins', 'headers,hostile', `${site.url}/page-1.html`)
    const { code, stderr } = await home.run(['run', '--exit-on-idle'])
    expect(code, stderr).toBe(0)
    expect(stderr).not.toContain('newer runner')
    const [page] = await expectComplete(home, crawl)
    const made = (file: string) => readFileSync(join(home.dataDir, page!.output_dir, 'hostile', file), 'utf8')
    expect(made('exit.txt')).toBe('exit 2\n')
    expect(made('refusal.txt')).toContain('a hook cannot be the runner: it would end the runner that it works for')
  })

  it('adds a crawl and would run it follows it: another runner is neither started nor refused aloud', async () => {
    const home = await homes.make()
    const url = `${site.url}/page-1.html`
    plugin(
      home,
      'hostile',
      `timeout 60 "${NODE}" "${PROGRAM}" --database-url "${home.databaseUrl}" add --run --again --plugins headers ` +
        `${url} >added.txt 2>said.txt; echo "exit $?" >exit.txt\n${GOOD}`,
    )
    await home.add('--plugins', 'headers,hostile', url)
    // There is a worker for the other crawl, too, on however small a machine.
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], { env: { MAX_CRAWL_WORKERS: '2' } })
    expect(code, stderr).toBe(0)
    const dir = await home.value<string>('select output_dir from snapshot order by id limit 1')
    const made = (file: string) => readFileSync(join(home.dataDir, dir, 'hostile', file), 'utf8')
    expect(made('said.txt')).not.toContain('cannot be the runner')
    expect(made('exit.txt')).toBe('exit 0\n')
  })

  it('floods stdout with a gigabyte is killed, its log is cut, and nobody’s memory grows', async () => {
    const home = await homes.make()
    plugin(home, 'hostile', 'head -c 1G /dev/zero; sleep 1000')
    const crawl = await home.add('--plugins', 'hostile', `${site.url}/page-1.html`)
    const runner = home.start(['run'])
    await runner.says(/leading/)
    const before = rssOf(runner.pid)
    const sizes: number[] = []
    await eventually(async () => {
      for (const { pid, command } of processesOf(home.dataDir))
        if (command.includes('worker snapshot')) sizes.push(rssOf(pid))
      return await home.value<boolean>("select bool_and(status = 'sealed') from crawl")
    })
    await sealedCrawl(home, crawl)
    const [result] = await resultsOf(home, crawl)
    expect(result).toMatchObject({ status: 'failed', output_str: 'killed: it printed more than 64 MiB', attempt: 1 })
    const log = await home.value<string>(
      "select stdout_log from process where process_type = 'hook' and url is not null",
    )
    expect(statSync(join(home.dataDir, log)).size).toBe(64 * 1024 * 1024)
    expect(rssOf(runner.pid) - before).toBeLessThan(60)
    expect(Math.max(...sizes)).toBeLessThan(250)
    runner.signal('SIGTERM')
    expect((await runner.finished()).code).toBe(0)
  })

  it.each(['basic', 'cgroup'])(
    'forks as fast as it can while it is killed leaves nobody (containment %s, or the next best)',
    async (tier) => {
      const storm = 'for i in {1..30}; do (trap "" TERM; while :; do setsid sleep 0.02 & sleep 0.01; done) & done; wait'
      const home = await homes.make()
      plugin(home, 'hostile', storm)
      await home.add('--plugins', 'hostile', '-c', 'HOSTILE_TIMEOUT=1', `${site.url}/page-1.html`)
      const call = { env: { CONTAINMENT: tier } }
      let run = await home.run(['run', '--exit-on-idle'], call)
      if (run.code === 2) run = await home.run(['run', '--exit-on-idle'])
      expect(run.code, run.stderr).toBe(0)
      expect(await home.value('select output_str from archive_result')).toBe('timed out after 1 s')
      expect(processesOf(home.dataDir).map(({ command }) => command)).toEqual([])
    },
  )

  it('ignores SIGTERM is killed at its deadline, and a second later it is over', async () => {
    const { home, result } = await ran('trap "" TERM; while :; do sleep 0.1; done', { HOSTILE_TIMEOUT: '3' })
    expect(result).toMatchObject({ status: 'failed', output_str: 'timed out after 3 s' })
    expect(await home.value("select exit_signal from process where process_type = 'hook' and url is not null")).toBe(
      'SIGKILL',
    )
  })

  it('leaves a grandchild that keeps its stdout is done when it is itself, and the grandchild ends', async () => {
    const { home, result } = await ran(`sleep 1000 &\n${GOOD}`)
    expect(result).toMatchObject({ status: 'succeeded', output_str: 'fine' })
    expect(processesOf(home.dataDir)).toEqual([])
  })

  it('prints binary, NULs, escape sequences and halves of records is heard where it makes sense', async () => {
    const { home, result } = await ran(
      `head -c 100000 /dev/urandom; printf '\\0\\0{"type": ` +
        `"Snapshot"\\n\\033]0;title\\007\\033[2J\\n'\n${GOOD}\nprintf '{"type": "ArchiveResult", "status'`,
    )
    expect(result).toMatchObject({ status: 'succeeded', output_str: 'fine' })
    const id = await home.value<string>("select id from process where process_type = 'hook' and url is not null")
    expect((await home.run(['process', 'logs', id])).stdout).toContain('fine')
  })

  it('prints one line of 50 MB, a hundred thousand brackets and a million short lines is heard at the end of it', async () => {
    const script = [
      `head -c 50000000 /dev/zero | tr '\\0' x; echo`,
      `printf '{"a": '; head -c 100000 /dev/zero | tr '\\0' '['; echo`,
      'yes {} | head -n 1000000',
      GOOD,
    ]
    expect((await ran(script.join('\n'))).result).toMatchObject({ status: 'succeeded', output_str: 'fine' })
  })

  it('reads stdin sees its end at once', async () => {
    expect((await ran(`cat >input.txt\n${GOOD}`)).result).toMatchObject({
      status: 'succeeded',
      output_files: { 'input.txt': { size: 0 } },
    })
  })

  it('prints nothing and makes nothing has no result, whatever its exit code says', async () => {
    expect((await ran('echo oh >&2')).result).toMatchObject({ status: 'noresults' })
  })

  it('is a browser whose main process dies takes its renderers along', async () => {
    const renderers =
      'for i in 1 2 3; do setsid bash -c "trap \\"\\" TERM; while :; do sleep 0.1; done" & done; sleep 0.3; kill -9 $$'
    const { home, result } = await ran(renderers)
    expect(result).toMatchObject({ status: 'failed', output_str: expect.stringMatching(/SIGKILL|137/) })
    expect(processesOf(home.dataDir)).toEqual([])
  })

  it.each([
    ['has an interpreter that is not there', `#!/no/such/interpreter\n${GOOD}`],
    ['is not a program', '#!\0\0\0'],
  ])('%s fails once, and says why', async (_what, script) => {
    const { result } = await ran(script)
    expect(result).toMatchObject({ status: 'failed', attempt: 1 })
    expect(result.output_str).not.toBe('')
  })

  it('gets more environment than the system takes (E2BIG) fails once, and says why', async () => {
    const home = await homes.make()
    plugin(home, 'hostile', GOOD)
    writeFileSync(join(home.dataDir, 'archivebox.toml'), `HOSTILE_HUGE = "${'x'.repeat(200_000)}"\n`, { flag: 'a' })
    const crawl = await home.add('--plugins', 'headers,hostile', `${site.url}/page-1.html`)
    const { code, stderr } = await home.run(['run', '--exit-on-idle'])
    expect(code, stderr).toBe(0)
    const results = await resultsOf(home, crawl)
    expect(results.find(({ plugin }) => plugin === 'hostile')).toMatchObject({
      status: 'failed',
      output_str: 'it cannot be started: spawn E2BIG',
      attempt: 1,
    })
  })

  it('kills the leader has its page archived by the next one', async () => {
    const home = await homes.make()
    const above = 'ppid() { cut -d" " -f4 "/proc/$1/stat"; }'
    // Worker, crawl worker, leader.
    plugin(
      home,
      'hostile',
      `${above}\nif mkdir "$DATA_DIR/once"; then kill -9 "$(ppid "$(ppid $PPID)")"; sleep 1000; fi\n${GOOD}`,
    )
    const crawl = await home.add('--plugins', 'hostile', `${site.url}/page-1.html`)
    const first = await home.run(['run', '--exit-on-idle'])
    expect(first.signal).toBe('SIGKILL')
    await eventually(async () => (await openRows(home)).length === 0)
    expect(existsSync(join(home.dataDir, 'once'))).toBe(true)
    const next = await home.run(['run', '--exit-on-idle'])
    expect(next.code, next.stderr).toBe(0)
    await expectComplete(home, crawl)
    expect((await resultsOf(home, crawl))[0]).toMatchObject({ status: 'succeeded', output_str: 'fine' })
  })
})
