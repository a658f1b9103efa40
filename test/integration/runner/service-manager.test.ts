import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { withPrograms } from '../../support/bare-path.ts'
import { DatabaseProxy } from '../../support/database-proxy.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { eventually, ROOT } from '../../support/program.ts'

const { path: PATH, missing } = withPrograms('systemd-notify', 'python3')

const homes = useHomes()

/** A service manager: its socket, and what it was told so far. */
async function serviceManager(home: TestHome) {
  const socket = join(home.dataDir, 'notify')
  const child = spawn('python3', [join(ROOT, 'test/fixtures/service-manager.py'), socket], {
    env: { ...process.env, PATH },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
  const heard = () =>
    said
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as string)
  await eventually(() => heard().includes('up'))
  /** Waits until it was told this, once more than `before`. */
  const hears = async (what: RegExp, before = 0) =>
    await eventually(() => heard().filter((line) => what.test(line)).length > before)
  const close = async () => {
    child.kill()
    await once(child, 'exit')
  }
  return { close, env: { PATH, NOTIFY_SOCKET: socket, WATCHDOG_USEC: '6000000' }, heard, hears }
}

describe.skipIf(missing).concurrent(`under a service manager${missing ? `: ${missing}` : ''}`, () => {
  it('a runner tells that it leads, what it does, that it is alive, and that it ends', async () => {
    const home = await homes.make('oracle')
    home.hold('oracle')
    await home.add('--plugins', 'oracle', 'http://127.0.0.1:9/')
    const manager = await serviceManager(home)
    const runner = home.start(['run'], { env: manager.env })
    await manager.hears(/^READY=1$/)
    await manager.hears(/^STATUS=archiving 1 page$/)
    await manager.hears(/^WATCHDOG=1$/, 1)
    home.letGo('oracle')
    await manager.hears(/^STATUS=nothing to do$/)
    runner.signal('SIGTERM')
    expect((await runner.finished()).code).toBe(0)
    await manager.hears(/^STOPPING=1$/)
    expect(manager.heard().filter((line) => /^(READY|MAINPID|STOPPING)/.test(line))).toEqual(['READY=1', 'STOPPING=1'])
    await manager.close()
  })

  it('it is alive while it waits for a database that is away, and says so', async ({ onTestFinished }) => {
    const home = await homes.make()
    const proxy = await DatabaseProxy.before(home.databaseUrl)
    onTestFinished(() => proxy.close())
    const manager = await serviceManager(home)
    const runner = home.start(['run'], { env: { ...manager.env, DATABASE_URL: proxy.url } })
    await manager.hears(/^STATUS=nothing to do$/)
    proxy.refuse()
    proxy.reset()
    await manager.hears(/^STATUS=waiting for the database/)
    const fed = manager.heard().filter((line) => line === 'WATCHDOG=1').length
    await manager.hears(/^WATCHDOG=1$/, fed + 2)
    proxy.pass()
    await manager.hears(/^STATUS=nothing to do$/, 1)
    runner.signal('SIGTERM')
    expect((await runner.finished()).code).toBe(0)
    await manager.close()
  })

  it('after a reload the new one is the main process, and then the old one exits: the service never stops', async () => {
    const home = await homes.make()
    const manager = await serviceManager(home)
    const old = home.start(['run', '--stay', '--daemon'], { env: manager.env })
    await manager.hears(/^READY=1$/)
    const env = { ...manager.env, MAINPID: String(old.pid) }
    const next = home.start(['run', '--stay', '--daemon'], { env })
    expect((await old.finished()).code).toBe(0)
    expect(old.stderr).toMatch(/drained \(SIGTERM\)/)
    await manager.hears(/^READY=1$/, 1)
    next.signal('SIGTERM')
    expect((await next.finished()).code).toBe(0)
    await manager.hears(/^STOPPING=1$/)
    expect(manager.heard().filter((line) => /^(READY|MAINPID|STOPPING)/.test(line))).toEqual([
      'READY=1',
      'READY=1',
      `MAINPID=${next.pid}`,
      'STOPPING=1',
    ])
    await manager.close()
  })

  it('a standby is ready, too, and does not end the service', async () => {
    const home = await homes.make('oracle')
    const manager = await serviceManager(home)
    const leader = home.start(['run'])
    await leader.says(/leading/)
    const standby = home.start(['run', '--standby'], { env: manager.env })
    await manager.hears(/^READY=1$/)
    await manager.hears(/^STATUS=.*standing by/)
    standby.signal('SIGTERM')
    expect((await standby.finished()).code).toBe(0)
    expect(manager.heard().filter((line) => /^STOPPING/.test(line))).toEqual([])
    leader.signal('SIGTERM')
    expect((await leader.finished()).code).toBe(0)
    await manager.close()
  })
})
