import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CONTAINER, noContainers, noMounts } from '../../support/containers.ts'
import { newFolder, type TestHome, useHomes } from '../../support/homes.ts'
import { openRows, pidsOf } from '../../support/observer.ts'
import { perTest } from '../../support/per-test.ts'
import { processesOf } from '../../support/processes.ts'
import { eventually, type Running } from '../../support/program.ts'

const homes = useHomes()

const folders = perTest<string[]>(
  () => [],
  (made) => {
    for (const each of made) rmSync(each, { recursive: true, force: true })
  },
)
/** Another folder for the time of a test. */
function folder(): string {
  const made = newFolder()
  folders().push(made)
  return made
}

/** What a runner said until it was asked for the lead; then it is asked to leave. */
async function leave(runner: Running): Promise<void> {
  runner.signal('SIGTERM')
  expect((await runner.finished()).code, runner.stderr).toBe(0)
}

/** Gives the others time to do what they must not do. */
const aMoment = () => new Promise((resolve) => setTimeout(resolve, 1_000))

/** The heartbeats of the live are as old as after 40 s of silence. */
const silence = (home: TestHome) =>
  home.query("update process set heartbeat_at = now() - interval '40 s' where ended_at is null")

function pidsBelow(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
}

describe.skipIf(noContainers)(`a leader in another container ${noContainers || ''}`, { concurrent: true }, () => {
  it('closes the row of one that it cannot see; what that left running is ended by whoever leads in its place', async () => {
    const home = await homes.make()
    home.install('family')
    await home.add('--plugins', 'family', '-c', 'FAMILY_SECONDS=1000', 'http://127.0.0.1:9/')
    const dead = home.start(['run'], { env: { CONTAINMENT: 'basic' } })
    const left = () => processesOf(home.dataDir).filter(({ command }) => command.includes('read -r -u 8'))
    await eventually(() => left().length >= 2)
    const guardian = processesOf(home.dataDir).filter(({ command }) => command.includes('archivebox-ts-guardian'))
    const workers = [...(await pidsOf(home, 'crawl')), ...(await pidsOf(home, 'snapshot'))]
    const all = [...guardian.map((seen) => seen.pid), dead.pid, ...workers]
    // None notices another's end.
    for (const signal of ['SIGSTOP', 'SIGKILL'] as const) for (const pid of all) process.kill(pid, signal)
    await dead.finished()
    await silence(home)
    const maintain = ['run', '--maintenance-only']
    const inside = await home.run(maintain, { under: CONTAINER })
    expect(inside.code, inside.stderr).toBe(0)
    expect(await openRows(home)).toEqual([])
    expect(left().length).toBeGreaterThan(0)
    const { code, stderr } = await home.run(maintain)
    expect(code, stderr).toBe(0)
    expect(left()).toEqual([])
  })

  it('is asked through its row, hands over, and is waited for', async () => {
    const home = await homes.make()
    const inside = home.start(['run'], { under: CONTAINER })
    await inside.says(/leading \(term 1\)/)
    const outside = home.start(['run'])
    await outside.says(/in another container or on another machine: asked through the database/)
    expect(await inside.finished()).toMatchObject({ code: 0, stderr: expect.stringContaining('handed over') })
    await outside.says(/leading \(term 2\)/)
    await leave(outside)
  })

  it('that died is not taken for dead before its heartbeat is old', async () => {
    const home = await homes.make()
    const inside = home.start(['run'], { under: CONTAINER })
    await inside.says(/leading \(term 1\)/)
    inside.signal('SIGKILL')
    await inside.finished()
    // One from before the clock was set back grows old from the moment that somebody waits for it.
    const setAhead = () => home.query("update process set heartbeat_at = now() + interval '8 h' where ended_at is null")
    await setAhead()
    const outside = home.start(['run'])
    await outside.says(/asked through the database/)
    await aMoment()
    expect(outside.stderr).not.toContain('leading')
    await setAhead()
    await eventually(() => home.value('select bool_and(heartbeat_at <= now()) from process where ended_at is null'))
    await silence(home)
    await outside.says(/leading \(term 2\)/)
    await leave(outside)
  })

  it('that is silent but holds the data dir is not passed: a clear line, exit code 1, and it goes on leading', async () => {
    const home = await homes.make()
    const inside = home.start(['run'], { under: CONTAINER })
    await inside.says(/leading \(term 1\)/)
    const [hidden] = pidsBelow(inside.pid)
    process.kill(hidden!, 'SIGSTOP')
    await silence(home)
    const outside = home.start(['run'])
    const { code, stderr } = await outside.finished()
    expect(code, stderr).toBe(1)
    expect(stderr).toMatch(/the data dir is held by a runner that this database does not show as alive: pid \d+ on /)
    process.kill(hidden!, 'SIGCONT')
    expect(await home.value('select term from runner_term')).toBe('1')
    expect(await pidsOf(home, 'worker_runner')).toHaveLength(1)
    process.kill(hidden!, 'SIGTERM')
    expect((await inside.finished()).code, inside.stderr).toBe(0)
  })
})

describe.concurrent('the data dir', () => {
  it('that somebody holds for a moment is waited for', async () => {
    const home = await homes.make()
    const holder = spawn('flock', [join(home.dataDir, '.runner.lock'), 'sh', '-c', 'echo held; read _'], {
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    await once(holder.stdout, 'data')
    const runner = home.start(['run'])
    await eventually(async () => (await pidsOf(home, 'runner_waiting')).length === 1)
    await aMoment()
    expect(runner.stderr).not.toContain('leading')
    holder.stdin.end('\n')
    await runner.says(/leading/)
    await leave(runner)
  })

  it.skipIf(noMounts)(`is one, by whatever path it is mounted ${noMounts || ''}`, async () => {
    const home = await homes.make()
    const other = folder()
    const mounted = ['unshare', '--mount', 'sh', '-c', `mount --bind '${home.dataDir}' '${other}' && exec "$@"`, 'sh']
    const first = home.start(['run'])
    await first.says(/leading \(term 1\)/)
    const second = home.start(['run'], { under: mounted, env: { DATA_DIR: other } })
    await second.says(/leading \(term 2\)/)
    expect((await first.finished()).code).toBe(0)
    await leave(second)
  })

  it('that was copied is another one: both have a leader, and the copy says what it is', async () => {
    const home = await homes.make()
    const first = home.start(['run'])
    await first.says(/leading \(term 1\)/)
    const copy = join(folder(), 'copy')
    cpSync(home.dataDir, copy, { recursive: true, preserveTimestamps: true })
    const second = home.start(['run'], { env: { DATA_DIR: copy } })
    await second.says(/copy is a copy of another data dir: it gets a new identity/)
    await second.says(/leading \(term 1\)/)
    expect(await pidsOf(home, 'worker_runner')).toHaveLength(2)
    await leave(second)
    await leave(first)
  })
})

describe.concurrent('two supervisors that restart their runners', () => {
  it('come to rest: the second restart leaves the lead where it is, and says why', async () => {
    const home = await homes.make()
    const loop = ['sh', '-c', 'while :; do "$@"; done', 'loop']
    const one = home.start(['run'], { under: loop })
    await one.says(/leading \(term 1\)/)
    const two = home.start(['run'], { under: loop })
    await two.says(/leading \(term 2\)/)
    await one.says(
      /two supervisors restart runners against each other \(superseded 1 times lately\): leaving the lead to pid \d+/,
    )
    await aMoment()
    expect(await home.value('select term from runner_term')).toBe('2')
    // A person's own start is no restart.
    const mine = home.start(['run'])
    await mine.says(/leading \(term 3\)/)
    for (const { pid } of [one, two]) process.kill(-pid, 'SIGTERM')
    await leave(mine)
    await Promise.all([one.finished(), two.finished()])
  })

  it('are not one program that starts runner after runner', async () => {
    const home = await homes.make()
    for (let number = 1; number <= 4; number += 1)
      await home.start(['run']).says(new RegExp(`leading \\(term ${number}\\)`))
    const last = home.start(['run'])
    await last.says(/leading \(term 5\)/)
    expect(last.stderr).not.toContain('two supervisors')
    await leave(last)
  })
})
