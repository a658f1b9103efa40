import { describe, expect, it } from 'vitest'
import { defineMachine, GraphError, type Handled, type Machine, withHandlers } from '../../../src/engine/index.ts'

const machine = defineMachine({
  name: 'job',
  table: 'job',
  initial: 'queued',
  states: {
    queued: { on: { start: 'started', pause: 'paused' }, retryAfterMs: 1_000 },
    started: { on: { finish: 'done' }, retryAfterMs: 1_000 },
    paused: { on: { resume: 'queued' }, external: true },
    done: { final: true },
  },
})
const complete = { queued: async () => 'start' as const, started: async () => 'finish' as const }
/** As somebody who writes JavaScript calls it. */
const unchecked = withHandlers as unknown as (machine: Machine, handlers: object) => Handled<Machine>

describe('handlers are checked when the program starts', () => {
  it('takes one for each state in which rows are claimed', () => {
    expect(withHandlers(machine, complete).machine).toBe(machine)
  })

  it.each([
    ['state "started" has no handler', { queued: complete.queued }],
    ['state "started" has no handler', { ...complete, started: 'finish' }],
    ['state "done" is final and has a handler', { ...complete, done: () => {} }],
    ['state "paused" is external and has a handler', { ...complete, paused: () => 'resume' }],
    ['state "gone" has a handler, but is not one of its states', { ...complete, gone: () => {} }],
    ['state "toString" has a handler, but is not one of its states', { ...complete, toString: (): string => '' }],
  ])('%s', (message, handlers) => {
    expect(() => unchecked(machine, handlers)).toThrow(new GraphError(machine, message))
  })

  it.each([undefined, 0])('a state with a handler, and a retryAfterMs of %s', (retryAfterMs) => {
    const states = {
      ...machine.states,
      queued: { on: { start: 'started', pause: 'paused' }, ...(retryAfterMs === 0 ? { retryAfterMs } : {}) },
    }
    expect(() => unchecked({ ...machine, states } as Machine, complete)).toThrow(
      'state graph "job": state "queued" has a handler, but no retryAfterMs above 0 to come back after',
    )
  })
})
