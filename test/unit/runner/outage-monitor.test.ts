import { expect, it, onTestFinished, vi } from 'vitest'
import { Log } from '../../../src/base/log.ts'
import type { Home } from '../../../src/db/home.ts'
import { OutageMonitor } from '../../../src/runner/outage-monitor.ts'

it('leaves a restart of our own server to whoever does it: to a unit of systemd for longer', async () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(0)
  onTestFinished(() => now.mockRestore())
  const runnerWith = (env: Readonly<Record<string, string>>) => {
    const said: string[] = []
    const home = { embedded: true, dataDir: '/dev/null/nowhere' } as Home // It says that it cannot.
    const monitor = new OutageMonitor(home, new Log('runner', ({ text }) => said.push(text)), env)
    const hasTried = () => said.some((text) => text.startsWith('cannot start the database server'))
    return { monitor, hasTried }
  }
  const alone = runnerWith({})
  const beside = runnerWith({ ARCHIVEBOX_DATABASE_UNIT: 'archivebox-db.service' })
  const isAway = (seconds: number) => {
    now.mockReturnValue(1_000 * seconds)
    for (const { monitor } of [beside, alone]) monitor.seen(new Error('refused'))
  }
  isAway(0)
  isAway(2)
  await expect.poll(alone.hasTried).toBe(true)
  expect(beside.hasTried()).toBe(false)
  isAway(31)
  await expect.poll(beside.hasTried).toBe(true)
})
