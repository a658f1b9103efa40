import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { uuidv7 } from '../../../src/base/ids.ts'
import { Log } from '../../../src/base/log.ts'
import type { RunningHook } from '../../../src/hooks/launch.ts'
import { type BackgroundEnd, exitWithin, terminateHooks } from '../../../src/hooks/terminate.ts'
import { CannotEnd } from '../../../src/processes/cannot-end.ts'
import { MARKER } from '../../../src/processes/marks.ts'
import { noFreezer, whileFrozen } from '../../support/frozen.ts'

/** A background hook whose time is over. */
function background(): RunningHook & { readonly pid: number } {
  const mark = uuidv7()
  const child = spawn('sleep', ['1000'], { env: { ...process.env, [MARKER.process]: mark }, stdio: 'ignore' })
  const exited = once(child, 'exit').then(([code, signal]) => ({ code, signal }))
  const hook = { name: 'sleeps', timeoutMs: 0, graceMs: 200 }
  const family = { markers: [`${MARKER.process}=${mark}`] }
  const about = { hook, url: 'http://a.example/', pid: child.pid!, family, exited, startedAt: performance.now() }
  return about as unknown as RunningHook & { readonly pid: number }
}

it.skipIf(noFreezer)(`one that cannot be ended costs nobody its end ${noFreezer || ''}`, async () => {
  const [first, stuck, last] = [background(), background(), background()]
  const budget = { capMs: Number.POSITIVE_INFINITY, over: new AbortController().signal }
  const ended: BackgroundEnd[] = []
  const end = async () => {
    for await (const one of terminateHooks([first, stuck, last], budget, new Log('test', () => {}))) ended.push(one)
  }
  await whileFrozen(stuck.pid, async () => {
    await expect(end()).rejects.toThrow(CannotEnd)
    expect(ended.map(({ running, exit, killed }) => [running, exit.signal, killed])).toEqual([
      [first, 'SIGTERM', false],
      [last, 'SIGTERM', false],
    ])
  })
  await stuck.exited
})

it('one that exits in time while we stand still is not late', async () => {
  const child = spawn('sleep', ['0.1'], { stdio: 'ignore' })
  const running = { exited: once(child, 'exit') } as unknown as RunningHook
  const exit = exitWithin(running, 200, new AbortController().signal)
  await stat('/') // After this, timers come before exits.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
  expect(await exit).toEqual([0, null])
})
