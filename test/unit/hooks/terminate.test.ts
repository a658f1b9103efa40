import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { uuidv7 } from '../../../src/base/ids.ts'
import { Log } from '../../../src/base/log.ts'
import type { RunningHook } from '../../../src/hooks/launch.ts'
import { type BackgroundEnd, terminateHooks } from '../../../src/hooks/terminate.ts'
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
