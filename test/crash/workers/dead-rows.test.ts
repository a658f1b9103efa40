import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { uptime } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { expectOneAtATime, openRows, pidsOf, sealedCrawl } from '../../support/observer.ts'
import { eventually, type Running } from '../../support/program.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site
beforeAll(async () => {
  site = await startSite(pages(3))
})
afterAll(() => site.close())

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

describe.concurrent('rows of the dead', () => {
  it('of an earlier boot are closed at once, and their claims are due', async () => {
    const home = await homes.make()
    const runner = home.start(['run'])
    await runner.says(/leading \(term 1\)/)
    await leave(runner)
    const crawl = await home.add('http://127.0.0.1:9/')
    await home.query(
      `update process set status = 'running', ended_at = null, exit_code = null, boot_id = 'earlier',
      heartbeat_at = now() - make_interval(secs => $1) where worker_type = 'worker_runner'`,
      [uptime() + 1],
    )
    await home.query(
      `update crawl set claim_token = gen_random_uuid(),
        claimed_by = (select id from process where boot_id = 'earlier'), retry_at = now() + interval '1 hour'
      where id = $1`,
      [crawl],
    )
    const next = home.start(['run', '--exit-on-idle'])
    await next.says(/leading \(term 2, 1 unfinished claims taken over\)/)
    expect(await home.value("select status from process where boot_id = 'earlier'")).toBe('lost')
    expect((await next.finished()).code, next.stderr).toBe(0)
    expect(await home.value('select status from crawl where id = $1', [crawl])).toBe('sealed')
  })

  it('of an earlier boot are closed at once, too, when the clock was set back since', async () => {
    const home = await homes.make()
    const runner = home.start(['run'])
    await runner.says(/leading \(term 1\)/)
    await leave(runner)
    await home.query(`update process set status = 'running', ended_at = null, exit_code = null, boot_id = 'earlier',
      heartbeat_at = now() + interval '1 hour' where worker_type = 'worker_runner'`)
    const next = home.start(['run'])
    await next.says(/leading \(term 2\)/)
    expect(next.stderr).not.toContain('in another container')
    await leave(next)
  })

  it('of a clone of this machine, heard of since we booted, are not taken for an earlier boot: it is asked and waited for', async () => {
    const home = await homes.make()
    const runner = home.start(['run'])
    await runner.says(/leading \(term 1\)/)
    await leave(runner)
    await home.query(`update process
      set status = 'running', ended_at = null, exit_code = null, boot_id = 'clone', heartbeat_at = now()
      where worker_type = 'worker_runner'`)
    const next = home.start(['run'])
    await next.says(/in another container or on another machine: asked through the database/)
    await aMoment()
    expect(next.stderr).not.toContain('leading')
    await silence(home)
    await next.says(/leading \(term 2\)/)
    await leave(next)
  })

  it('that name a living process which is not ours do it no harm', async () => {
    const home = await homes.make()
    const runner = home.start(['run'])
    await runner.says(/leading/)
    await leave(runner)
    const innocent = spawn('sleep', ['60'])
    await home.query(
      `update process set status = 'running', ended_at = null, exit_code = null, pid = $1
        where worker_type = 'worker_runner'`,
      [innocent.pid],
    )
    const next = home.start(['run'])
    await next.says(/leading \(term 2\)/)
    expect(innocent.exitCode ?? innocent.signalCode).toBeNull()
    innocent.kill()
    await leave(next)
  })

  it('of a leader’s own row, closed or deleted under it, cost it its term and nothing else: it is there, and leads again', async () => {
    const home = await homes.make()
    home.install('oracle')
    const runner = home.start(['run'])
    await runner.says(/leading \(term 1\)/)
    const crawl = await home.add(
      '--plugins',
      'html,oracle',
      '-c',
      'ORACLE_SECONDS=3',
      `${site.url}/page-1.html`,
      `${site.url}/page-2.html`,
    )
    await eventually(async () => (await pidsOf(home, 'hook')).length > 0)
    await home.query(
      "update process set status = 'exited', exit_code = 0, ended_at = now() where worker_type = 'worker_runner'",
    )
    await runner.says(/cannot know that it leads/)
    await runner.says(/leading \(term 2\)/)
    expect(
      await home.value("select count(*) from process where status = 'running' and ended_at is null and pid = $1", [
        runner.pid,
      ]),
    ).toBe('1')
    await home.query("delete from process where worker_type = 'worker_runner'")
    await runner.says(/leading \(term 3\)/)
    await sealedCrawl(home, crawl)
    expectOneAtATime(home)
    await leave(runner)
    // Whose parent nobody knows any more.
    await home.query("delete from process where process_type in ('worker', 'hook')")
  })

  it('of our own row, closed by somebody else while we wait, is opened again: we are there, and lead', async () => {
    const home = await homes.make()
    const holder = spawn('flock', [join(home.dataDir, '.runner.lock'), 'sh', '-c', 'echo held; read _'], {
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    await once(holder.stdout, 'data')
    const runner = home.start(['run'])
    await eventually(async () => (await pidsOf(home, 'runner_waiting')).length === 1)
    await home.query("update process set status = 'lost', ended_at = now() where worker_type = 'runner_waiting'")
    await runner.says(/registering again/)
    holder.stdin.end('\n')
    await runner.says(/leading \(term 1\)/)
    await leave(runner)
    expect(await openRows(home)).toEqual([])
  })
})
