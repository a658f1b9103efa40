import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Bell } from '../../src/base/abort.ts'
import { settingsOf } from '../../src/base/config.ts'
import { Log } from '../../src/base/log.ts'
import { Stop } from '../../src/base/stop.ts'
import { crawlQueue } from '../../src/machines/queues.ts'
import { withLease } from '../../src/workers/lease.ts'
import type { WorkerContext } from '../../src/workers/worker-context.ts'
import { type TestHome, useHomes } from '../support/homes.ts'
import { Registry } from '../support/registry.ts'

const homes = useHomes()
let home: TestHome
let registry: Registry

beforeEach(async () => {
  home = await homes.make()
  registry = await Registry.open(home)
  await home.query('insert into runner_term (data_dir_id, term, process_id) values ($1, 1, $2)', [
    registry.home.dataDirId,
    registry.ownId,
  ])
})
afterEach(() => registry.close())

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

describe('a lease', () => {
  it('whose renewal is answered after the work has ended leaves no timer behind, and drops nothing', async () => {
    await home.add('http://127.0.0.1:9/')
    const context: WorkerContext = {
      owner: { home: registry.home, processId: registry.ownId, term: 1 },
      runnerId: registry.ownId,
      log: new Log('test', () => {}),
      stop: new Stop(),
      onRecheck: new Set(),
      bell: new Bell(),
      scope: {},
      settings: settingsOf({}),
      containment: { tier: 'basic', deathSignal: false },
    }
    const queue = crawlQueue(context.owner, {})
    const claim = (await queue.next())!
    const before = timers()
    const answered = Promise.withResolvers<unknown>()
    const renew = queue.renew.bind(queue)
    queue.renew = (...args) => {
      const answer = renew(...args)
      answered.resolve(answer.catch(() => {}))
      return answer
    }
    let dropped: AbortSignal | undefined
    await withLease(context, queue, claim, async (signal) => {
      dropped = signal
      for (const recheck of context.onRecheck) recheck()
    })
    await answered.promise
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(timers()).toBeLessThanOrEqual(before)
    expect(await queue.release(claim)).toBe(true)
    expect(dropped?.aborted).toBe(false)
  })

  it('that is lost is said to the work, and one that ended before it was lost is not', async () => {
    await home.add('http://127.0.0.1:9/')
    const onRecheck = new Set<() => void>()
    const owner = { home: registry.home, processId: registry.ownId, term: 1 }
    const context = { owner, stop: new Stop(), onRecheck, log: new Log('test', () => {}) } as unknown as WorkerContext
    const queue = crawlQueue(owner, {})
    const claim = (await queue.next())!
    await home.query('update crawl set claim_token = gen_random_uuid()')
    await withLease(context, queue, claim, async (signal) => {
      for (const recheck of onRecheck) recheck()
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    })
    const late = await withLease(context, queue, claim, async (signal) => {
      for (const recheck of onRecheck) recheck()
      return signal
    })
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(late.aborted).toBe(false)
    expect(onRecheck.size).toBe(0)
  })
})
