// `status` names the reason whenever something is unfinished and nothing moves. Each case provokes it and reads it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { pidsOf } from '../../support/observer.ts'
import { eventually, type Running } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site
beforeAll(async () => {
  site = await startSite(3)
})
afterAll(() => site.close())

async function reason(home: TestHome, args: readonly string[] = []): Promise<string> {
  const { stdout, stderr } = await home.run(['status', '--json', ...args])
  expect(stdout, stderr).not.toBe('')
  return (JSON.parse(stdout) as { blocked_reason: string | null }).blocked_reason ?? ''
}

/** Waits until `status` gives this reason. */
async function expectReason(home: TestHome, pattern: RegExp): Promise<void> {
  let last = ''
  const told = async () => {
    last = await reason(home)
    return pattern.test(last)
  }
  await eventually(told, 120_000).catch(() => expect(last).toMatch(pattern))
}

const queued = (home: TestHome) => home.add('--plugins', 'html', `${site.url}/page-1.html`)

async function leave(...runners: Running[]): Promise<void> {
  for (const runner of runners) {
    runner.signal('SIGCONT')
    runner.signal('SIGTERM')
  }
  for (const runner of runners) await runner.finished()
}

async function leading(home: TestHome, ...args: string[]): Promise<Running> {
  const runner = home.start(['run', ...args])
  await runner.says(/leading/)
  return runner
}

describe('with a leader that is well', () => {
  it('there is no reason while work goes on, and none when nothing is left', async () => {
    const home = await homes.make()
    home.install('slow')
    const runner = await leading(home)
    expect(await reason(home)).toBe('')
    await home.add('--plugins', 'slow', '-c', 'SLOW_SECONDS=1000', `${site.url}/page-1.html`, `${site.url}/page-2.html`)
    await eventually(async () => (await pidsOf(home, 'hook')).length > 0)
    expect(await reason(home)).toBe('')
    runner.signal('SIGTERM')
    await runner.says(/draining/)
    await new Promise((resolve) => setTimeout(resolve, 300)) // Two signals within 150 ms count as one.
    await leave(runner)
  })

  it('everything that is left is paused: crawls, or pages', async () => {
    const home = await homes.make()
    const crawl = await queued(home)
    await home.run(['crawl', 'pause', crawl])
    const runner = await leading(home)
    await expectReason(
      home,
      /everything left is paused: archivebox-ts crawl list --status paused \| archivebox-ts crawl resume -/,
    )
    await leave(runner)
    const other = await homes.make()
    const added = await other.add('--plugins', 'html', `${site.url}/page-1.html`, `${site.url}/page-2.html`)
    const excluding = await leading(other, '--exclude', 'snapshot')
    const page = await eventually(() =>
      other.value<string>('select id from snapshot where crawl_id = $1 limit 1', [added]),
    )
    await leave(excluding)
    await other.run(['snapshot', 'pause', page])
    const second = await leading(other)
    await expectReason(
      other,
      /everything left is paused: archivebox-ts snapshot list --status paused \| .* snapshot resume -/,
    )
    await leave(second)
  })

  it('the disk floor of the runner’s own configuration is not kept, whatever that of the asker is', async () => {
    const home = await homes.make()
    await queued(home)
    const runner = home.start(['run'], { env: { DISK_FLOOR: '900000000' } })
    await expectReason(home, /MB free in .*: below 900000000 MB \(DISK_FLOOR\) no page is started/)
    await leave(runner)
  })

  it('what is left waits for its next attempt', async () => {
    const home = await homes.make()
    home.install('temporary')
    await home.add(
      '--plugins',
      'temporary',
      '-c',
      'HOOK_RETRY_SECONDS=600',
      '-c',
      'TEMPORARY_TIMES=9',
      `${site.url}/page-1.html`,
    )
    const runner = await leading(home)
    await expectReason(home, /nothing is due for \d+ min: the rest waits for its next attempt/)
    await leave(runner)
  })

  it('the runner was told to leave it alone, or to work on something else only', async () => {
    const home = await homes.make()
    const crawl = await queued(home)
    const excluding = await leading(home, '--exclude', 'crawl')
    await expectReason(home, /runner pid \d+ was told to skip the rest \(--exclude crawl\): start one/)
    await leave(excluding)
    const only = await leading(home, '--crawl-id', crawl)
    await eventually(() => home.value<boolean>("select status = 'sealed' from crawl"))
    await queued(home)
    await expectReason(home, new RegExp(`runner pid \\d+ works on crawl ${crawl.slice(-8)} only: start one`))
    await leave(only)
  })

  it('its workers die again and again', async () => {
    const home = await homes.make()
    await queued(home)
    const runner = home.start(['run'], { env: { ARCHIVEBOX_FAILPOINTS: 'claim.made=exit' } })
    await expectReason(home, /\d+ workers in a row died before they finished anything: logs\/runner.log tells why/)
    await leave(runner)
  })
})

describe('with a leader that is not', () => {
  it('it is stopped, and a standby is there or not', async ({ onTestFinished }) => {
    const home = await homes.make()
    await queued(home)
    const runner = await leading(home, '--exclude', 'crawl')
    runner.signal('SIGSTOP')
    // However long we take to look, it has only just stopped: else the standby goes before it.
    const beat = () => home.query("update process set heartbeat_at = now() where worker_type = 'worker_runner'")
    const beats = setInterval(() => void beat().catch(() => {}), 2_000)
    onTestFinished(() => clearInterval(beats))
    await expectReason(
      home,
      new RegExp(`runner pid ${runner.pid} is stopped .kill -CONT .*start another runner, which takes over`),
    )
    const standby = home.start(['run', '--standby'])
    await standby.says(/standing by/)
    await expectReason(home, /is stopped .*; a standby takes over/)
    clearInterval(beats)
    await leave(standby, runner)
  })

  it('it is silent', async () => {
    const home = await homes.make()
    await queued(home)
    const runner = await leading(home, '--exclude', 'crawl')
    const silent = /has sent no heartbeat for 3 min \(stuck, or cut off from the database\): start another runner/
    await eventually(async () => {
      await home.query("update process set heartbeat_at = now() - interval '3 min' where worker_type = 'worker_runner'")
      return silent.test(await reason(home)) // It may have spoken in between.
    })
    await leave(runner)
  })
})

describe('without a leader', () => {
  it('somebody else holds the data dir', async () => {
    const home = await homes.make()
    await queued(home)
    const holder = spawn('flock', [join(home.dataDir, '.runner.lock'), 'sh', '-c', 'echo held; read _'], {
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    await once(holder.stdout, 'data')
    const standby = home.start(['run', '--standby'])
    await expectReason(home, /nobody leads yet: runner pid \d+ is waiting for the data dir, which is held by/)
    await expectReason(
      home,
      /nobody leads yet, only standbys are there: pid \d+ the data dir is held by|is waiting for the data dir/,
    )
    holder.stdin.end('\n')
    await standby.says(/leading/)
    await leave(standby)
  })

  it('the one that is to lead stands still', async () => {
    const home = await homes.make()
    await queued(home)
    const runner = home.start(['run'], { env: { ARCHIVEBOX_FAILPOINTS: 'gate.looked=stop' } })
    await expectReason(home, new RegExp(`nobody leads, and runner pid ${runner.pid} is stopped`))
    runner.signal('SIGCONT')
    await runner.says(/leading/)
    await leave(runner)
  })
})
