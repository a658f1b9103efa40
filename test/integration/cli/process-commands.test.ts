import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { resultOf } from '../../support/archive.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { pidsOf } from '../../support/observer.ts'
import { isThere, processesOf } from '../../support/processes.ts'
import { eventually, type Running } from '../../support/program.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(pages(3))
})
afterAll(() => site.close())

/** A leader with a hook that talks, and the pid of that. */
async function talking(): Promise<{ home: TestHome; crawl: string; runner: Running; hook: number }> {
  const home = await homes.make()
  home.install('talks')
  const crawl = await home.add('--plugins', 'talks', '-c', 'TALKS_TIMEOUT=1000', `${site.url}/page-1.html`)
  const runner = home.start(['run'])
  const hook = await eventually(async () => (await pidsOf(home, 'hook'))[0])
  return { home, crawl, runner, hook }
}

async function leave(runner: Running): Promise<void> {
  runner.signal('SIGTERM')
  expect((await runner.finished()).code).toBe(0)
}

describe('process show', () => {
  it('prints the record of one process, by its pid or its id', async () => {
    const { home, crawl, runner, hook } = await talking()
    const byPid = JSON.parse((await home.run(['process', 'show', String(hook)])).stdout)
    expect(byPid).toMatchObject({
      type: 'Process',
      process_type: 'hook',
      status: 'running',
      pid: hook,
      exit_code: null,
    })
    const byId = JSON.parse((await home.run(['process', 'show', byPid.id])).stdout)
    expect(byId.id).toBe(byPid.id)
    expect((await home.run(['process', 'kill', String(hook)])).code).toBe(0)
    await eventually(async () => (await resultOf(home, crawl, 'talks')).status === 'failed')
    await leave(runner)
  })

  it.each([
    ['0', /neither the id of a process nor a pid: 0/],
    ['-1', /unknown option|neither/],
    ['x', /neither the id of a process nor a pid: x/],
    ['999999999', /there is no process 999999999/],
    ['99999', /no process 99999 of this data dir is known/],
    ['01994f6e-0c1a-7c3e-9d55-0123456789ab', /there is no process 01994f6e-0c1a-7c3e-9d55-0123456789ab/],
  ])('of %s says what is wrong: exit code 2', async (which, message) => {
    const home = await homes.make()
    const { code, stderr } = await home.run(['process', 'show', which])
    expect(code).toBe(2)
    expect(stderr).toMatch(message)
  })
})

describe('process logs', () => {
  it('prints the end of what a hook said; of a runner, the runner’s log', async () => {
    const { home, runner, hook } = await talking()
    await eventually(async () => (await home.run(['process', 'logs', String(hook)])).stdout.includes('line 3\n'))
    expect((await home.run(['process', 'logs', String(hook), '--stderr'])).stdout).toBe('a complaint\n')
    expect((await home.run(['process', 'logs', String(runner.pid)])).stdout).toMatch(/leading \(term 1\)/)
    expect((await home.run(['process', 'kill', String(hook)])).code).toBe(0)
    await leave(runner)
  })

  it('of a worker are what it said itself', async () => {
    const home = await homes.make()
    const crawl = await home.add('--plugins', 'html', `${site.url}/page-1.html`, `${site.url}/page-2.html`)
    const env = { MAX_SNAPSHOT_WORKERS: '2', LOG_LEVEL: 'debug' }
    expect((await home.run(['run', '--exit-on-idle'], { env })).code).toBe(0)
    const workers = await home.query<{ id: string; worker_type: string }>(
      `select id, worker_type from process where process_type = 'worker'`,
    )
    const said = await Promise.all(workers.map(({ id }) => home.run(['process', 'logs', id])))
    const lines = said.flatMap(({ stdout }, index) => {
      const { id, worker_type: kind } = workers[index]!
      const own = stdout.split('\n').filter(Boolean)
      for (const line of own) expect(line).toContain(` ${kind} ${id.slice(-8)}: `)
      return own
    })
    expect(lines.filter((line) => line.includes(`archived ${site.url}`))).toHaveLength(2)
    expect(lines.join('\n')).toContain(crawl)
  })

  it('-f goes on until the process ends', async () => {
    const { home, runner, hook } = await talking()
    const following = home.start(['process', 'logs', String(hook), '--follow'])
    await eventually(() => (following.stdout.match(/^line \d+$/gm) ?? []).length > 20)
    process.kill(hook, 'SIGTERM')
    expect((await following.finished()).code).toBe(0)
    const numbers = [...following.stdout.matchAll(/^line (\d+)$/gm)].map(([, number]) => Number(number))
    expect(numbers).toEqual(numbers.map((_, index) => numbers[0]! + index))
    await leave(runner)
  })
})

describe('process kill', () => {
  it('ends a hook; its page goes on', async () => {
    const { home, crawl, runner, hook } = await talking()
    const { code, stdout } = await home.run(['process', 'kill', String(hook)])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ pid: hook, status: 'exited', exit_signal: 'SIGTERM' })
    await eventually(async () => (await resultOf(home, crawl, 'talks')).status === 'failed')
    await leave(runner)
  })

  it('--force of a worker kills it with its hooks, and another one takes over', async () => {
    const { home, runner, hook } = await talking()
    const [worker] = await pidsOf(home, 'snapshot')
    const { code, stderr } = await home.run(['process', 'kill', '--force', String(worker)])
    expect(code, stderr).toBe(0)
    expect(isThere(hook)).toBe(false)
    const next = await eventually(async () => (await pidsOf(home, 'hook'))[0])
    expect(next).not.toBe(hook)
    await home.run(['process', 'kill', String(next)])
    await leave(runner)
  })

  it('asks a runner to drain, and says that it is still there; --force ends it with everything', async () => {
    const { home, runner } = await talking()
    const asked = await home.run(['process', 'kill', String(runner.pid)])
    expect(asked.code).toBe(1)
    expect(asked.stderr).toMatch(/was asked to end, but is still there/)
    expect(asked.stderr).toMatch(/--force/)
    const forced = await home.run(['process', 'kill', '--force', String(runner.pid)])
    expect(forced.code, forced.stderr).toBe(0)
    await runner.finished()
    await eventually(() => processesOf(home.dataDir).length === 0)
  })

  it('of one that has ended says so: exit code 1, and nobody is signalled', async () => {
    const home = await homes.make()
    const id = await home.value<string>('select id from process limit 1')
    const { code, stderr } = await home.run(['process', 'kill', id])
    expect(code).toBe(1)
    expect(stderr).toMatch(/is no longer running/)
  })
})
