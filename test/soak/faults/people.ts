import type { Kind } from '../kinds.ts'
import type { World } from '../world.ts'

type Model = 'crawl' | 'snapshot'

async function chosen(
  { people }: World,
  model: Model,
  pick: number,
): Promise<{ id: string; crawl: string } | undefined> {
  if (model === 'snapshot') {
    const page = await people.pageAt(pick)
    return page && { id: page.id, crawl: page.crawl_id }
  }
  const id = people.crawlAt(pick)
  return id === undefined ? undefined : { id, crawl: id }
}

/** Pauses, and resumes later. */
const pause =
  (model: Model, forMs?: number): Kind['inflict'] =>
  (world, { pick, ms }) => {
    const pausing = async () => {
      const row = await chosen(world, model, pick)
      if (!row) return
      await world.people.command(model, 'pause', row.id)
      world.later(forMs ?? ms, () => world.people.command(model, 'resume', row.id), `pause ${row.id}`)
    }
    world.beside(pausing())
    return `for ${((forMs ?? ms) / 1000).toFixed(1)} s`
  }

/** What was cancelled has hooks that never run. */
const cancel =
  (model: Model): Kind['inflict'] =>
  async (world, { pick }) => {
    const row = await chosen(world, model, pick)
    if (!row) return 'nothing is there'
    world.ledger.cancelled.add(row.crawl)
    world.beside(world.people.command(model, 'cancel', row.id))
    return row.id
  }

/** Deletes for good; what was asked for may be gone from then on. */
const remove =
  (model: Model, killed: boolean): Kind['inflict'] =>
  async (world, { pick, ms }) => {
    const row = await chosen(world, model, pick)
    if (!row) return 'nothing is there'
    world.ledger.deleted.add(row.crawl)
    const removing = world.people.start(model, 'delete', '--yes', row.id)
    if (killed) world.after(ms / 8, () => world.signal(removing.pid, 'SIGKILL'))
    world.beside(removing.end)
    return row.id
  }

const retry =
  (model: Model): Kind['inflict'] =>
  async (world, { pick }) => {
    const row = await chosen(world, model, pick)
    if (!row) return 'nothing is there'
    world.beside(world.people.command(model, 'retry', row.id))
    return row.id
  }

/** Something that people do beside everything else. */
const beside =
  (what: (world: World, pick: number, ms: number) => Promise<unknown>): Kind['inflict'] =>
  (world, { pick, ms }) => {
    world.beside(what(world, pick, ms))
    return ''
  }

export const PEOPLE = {
  add: { weight: 5, inflict: beside(({ people }, pick) => people.add(1 + Math.floor(pick * 6))) },
  'add, and kill -9 it': {
    weight: 3,
    // A command takes some 300 ms: sometimes before its transaction, sometimes after, sometimes within.
    inflict: beside(({ people }, pick, ms) => people.add(1 + Math.floor(pick * 20), { killAfterMs: ms / 12 })),
  },
  'add --run': { weight: 1, inflict: beside(({ people }) => people.add(2, { options: ['--run'] })) },
  'add --run, and kill -9 it': {
    weight: 1,
    inflict: beside(({ people }, _pick, ms) => people.add(2, { options: ['--run'], killAfterMs: ms })),
  },
  'pause and resume a crawl': { weight: 3, inflict: pause('crawl') },
  'pause and resume a crawl at once': { weight: 1, inflict: pause('crawl', 50) },
  'pause and resume a page': { weight: 2, inflict: pause('snapshot') },
  'pause and resume a page at once': { weight: 1, inflict: pause('snapshot', 50) },
  'cancel a crawl': { weight: 1, inflict: cancel('crawl') },
  'cancel a page': { weight: 1, inflict: cancel('snapshot') },
  'delete a crawl': { weight: 1, inflict: remove('crawl', false) },
  'delete a crawl, and kill -9 it': { weight: 1, inflict: remove('crawl', true) },
  'delete a page': { weight: 1, inflict: remove('snapshot', false) },
  'retry a crawl': { weight: 2, inflict: retry('crawl') },
  'retry a page': { weight: 1, inflict: retry('snapshot') },
  'process kill': { weight: 2, inflict: beside(({ people }, pick) => people.processKill(pick)) },
  'process kill --force': { weight: 2, inflict: beside(({ people }, pick) => people.processKill(pick, '--force')) },
  'look around': { weight: 3, inflict: beside(({ people }) => people.lookAround()) },
  'db stop': { weight: 1, inflict: beside(({ people }) => people.command('db', 'stop')) },
  'db stop --force': { weight: 1, inflict: beside(({ people }) => people.command('db', 'stop', '--force')) },
} as const satisfies Record<string, Kind>
