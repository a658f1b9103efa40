// Compiled by `tsc -p .`, never run: what must not compile is marked, and the mark itself is an error where it is not
// needed.
import {
  type AnyClaimed,
  again,
  type Claimed,
  defineMachine,
  type FinalState,
  type LiveState,
  moved,
  Queue,
  type Sql,
  type Target,
  type WorkState,
  withHandlers,
} from '../../src/engine/index.ts'

const job = defineMachine({
  name: 'job',
  table: 'job',
  columns: { attempts: 'attempts', changedAt: 'changed_at' },
  initial: 'queued',
  states: {
    queued: { on: { start: 'started', pause: 'paused' }, retryAfterMs: 1_000, giveUp: { after: 3, to: 'failed' } },
    started: {
      on: { finish: 'done', pause: 'paused' },
      retryAfterMs: 1_000,
      deadlineMs: 5_000,
      timeout: { afterMs: 60_000, to: 'failed' },
    },
    paused: { on: { resume: 'queued' }, external: true },
    done: { final: true, deleteAfterMs: 1_000 },
    failed: { final: true },
  },
})
type Job = typeof job
interface Row {
  readonly id: string
  readonly url: string
}
declare const sql: Sql
const queue = new Queue<Job, Row>(job, sql)

// States, by what may be done with them.
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
export const states: [
  Same<FinalState<Job>, 'done' | 'failed'>,
  Same<LiveState<Job>, 'queued' | 'started' | 'paused'>,
  Same<WorkState<Job>, 'queued' | 'started'>,
  Same<Target<Job, 'queued', 'start'>, 'started'>,
] = [true, true, true, true]

// Graphs.
const rest = { name: 'bad', table: 'bad', initial: 'a' } as const
// @ts-expect-error the target of an edge is not a state
defineMachine({ ...rest, states: { a: { on: { go: 'nowhere' } }, b: { final: true } } })
// @ts-expect-error the initial state is not a state
defineMachine({ ...rest, initial: 'z', states: { a: { on: { go: 'b' } }, b: { final: true } } })
// @ts-expect-error a final state has no way out
defineMachine({ ...rest, states: { a: { on: { go: 'b' } }, b: { final: true, on: { back: 'a' } } } })
// @ts-expect-error nor a handler that could be retried
defineMachine({ ...rest, states: { a: { on: { go: 'b' } }, b: { final: true, retryAfterMs: 5 } } })
// @ts-expect-error a timeout leads to a state
defineMachine({ ...rest, states: { a: { on: { go: 'b' }, timeout: { afterMs: 5, to: 'z' } }, b: { final: true } } })
// @ts-expect-error and so does giving up
defineMachine({ ...rest, states: { a: { on: { go: 'b' }, giveUp: { after: 5, to: 'z' } }, b: { final: true } } })

// @ts-expect-error so does beginning anew
defineMachine({ ...rest, states: { a: { on: { go: 'b' } }, b: { final: true, reopen: { again: 'z' } } } })
// @ts-expect-error which is for what has ended
defineMachine({ ...rest, states: { a: { on: { go: 'b' }, reopen: { again: 'a' } }, b: { final: true } } })

// Parts of statements.
const part = { as: 'part', rows: '$1::uuid[]', by: 'null' } as const
moved(job, { ...part, from: ['queued'], event: 'start' })
moved(job, { ...part, from: ['queued', 'started'], event: 'pause' })
// @ts-expect-error not all of these states offer the event
moved(job, { ...part, from: ['queued', 'started'], event: 'start' })
// @ts-expect-error a final state has no way out
moved(job, { ...part, from: ['done'], event: 'start' })
// @ts-expect-error no such state
moved(job, { ...part, from: ['gone'], event: 'start' })
const anew = defineMachine({
  ...rest,
  states: { a: { on: { go: 'b' } }, b: { final: true, reopen: { again: 'a' } } },
})
moved(anew, { ...part, from: ['b'], event: 'again' })
// @ts-expect-error nobody else may begin a life anew
void new Queue(anew, sql).send(['1'], 'again')

// Handlers.
withHandlers<Job, Row>(job, {
  queued: async () => 'start',
  started: async (claim, { signal }) => {
    const state: 'started' = claim.state
    // @ts-expect-error a row has the columns that it has
    void claim.row.title
    await fetch(claim.row.url, { signal })
    return state ? 'finish' : undefined
  },
})
withHandlers(job, { queued: async () => 'start', started: async ({ id }) => (id === '1' ? again(500) : 'finish') })
withHandlers(job, { queued: async () => {}, started: async () => again() })
// @ts-expect-error the state does not offer this event
withHandlers(job, { queued: async () => 'finish', started: async () => 'finish' })
// @ts-expect-error nor does it offer this one
withHandlers(job, { queued: async () => 'start', started: async (claim) => (claim.id ? 'finish' : 'nonsense') })
// @ts-expect-error a state without handler
withHandlers(job, { queued: async () => 'start' })
// @ts-expect-error a final state is never claimed, so it has no handler
withHandlers(job, { queued: async () => 'start', started: async () => 'finish', done: async () => {} })
// @ts-expect-error an external one neither
withHandlers(job, { queued: async () => 'start', started: async () => 'finish', paused: async () => 'resume' })

// Claims.
// @ts-expect-error a final state is never claimed
export type Never = Claimed<Job, 'done'>

export async function work() {
  for (const claim of await queue.claim({ limit: 5 })) {
    // @ts-expect-error which of its events its state offers is not known yet
    await queue.move(claim, 'start')
    if (claim.state === 'queued') {
      const started = await queue.move(claim, 'start')
      const state: 'started' = started.state
      // @ts-expect-error started does not offer start
      await queue.move(started, 'start')
      const over: undefined = await queue.move(started, 'finish')
      // @ts-expect-error an outcome is one of its state
      await queue.settle([{ claim, outcome: 'finish' }])
      await queue.settle([{ claim, outcome: 'start' }])
      return { state, over }
    }
    const parked: undefined = await queue.move(claim, 'pause') // Nobody works on rows in an external state.
    return parked
  }
  const unclaimed = {
    id: '1',
    state: 'queued',
    token: 't',
    attempts: 1,
    expiredOwner: null,
    row: { id: '1', url: '' },
  } as const
  // @ts-expect-error a row that was not claimed is not written
  await queue.move(unclaimed, 'start')
  // @ts-expect-error nor settled
  await queue.settle([{ claim: unclaimed, outcome: again() }])
  // @ts-expect-error nor one of another graph
  await queue.settle([{ claim: await other.claimRow('1'), outcome: again() }])
  await queue.send(['1'], 'resume')
  // @ts-expect-error no state offers this event
  await queue.send(['1'], 'explode')
  // @ts-expect-error counted are the states of the graph
  await queue.counts(['gone'])
  return undefined
}
const other = new Queue(
  defineMachine({
    name: 'other',
    table: 'other',
    initial: 'a',
    states: { a: { on: { go: 'b' } }, b: { final: true } },
  }),
  sql,
)
export type AnyJob = AnyClaimed<Job, Row>
