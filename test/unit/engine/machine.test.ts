import { describe, expect, it } from 'vitest'
import { defineMachine, finalStates, GraphError, type Machine, workStates } from '../../../src/engine/index.ts'

/** A graph that types do not look at, as somebody who writes JavaScript declares it. */
const define = (states: object, rest: object = {}) =>
  (defineMachine as unknown as (definition: object) => Machine)({
    name: 'job',
    table: 'job',
    initial: 'new',
    states,
    ...rest,
  })
const done = { final: true }

describe('a state graph is checked when it is declared', () => {
  it('knows its final states and those in which rows are claimed', () => {
    const machine = define({
      new: { on: { wait: 'held', end: 'done' } },
      held: { on: { go: 'new' }, external: true },
      done,
    })
    expect(finalStates(machine)).toEqual(['done'])
    expect(workStates(machine)).toEqual(['new'])
    expect(machine.columns).toEqual({ id: 'id', status: 'status', retryAt: 'retry_at', token: 'claim_token' })
  })

  it('asks for no time of a change where rows are deleted at once', () => {
    expect(
      define({ new: { on: { end: 'done' } }, done: { final: true, deleteAfterMs: 0 } }).columns.changedAt,
    ).toBeUndefined()
  })

  const changed = { columns: { changedAt: 'changed_at' } }
  it.each<[string, object, object?]>([
    ['the initial state "new" is not one of its states', { old: { on: { end: 'done' } }, done }],
    [
      'the initial state "constructor" is not one of its states',
      { new: { on: { end: 'done' } }, done },
      { initial: 'constructor' },
    ],
    ['state "new" is initial and final at once', { new: { final: true } }],
    ['state "new" leads to "gone", which is not one of its states', { new: { on: { end: 'gone' } } }],
    [
      'state "new" leads to "late", which is not one of its states',
      { new: { on: { end: 'done' }, timeout: { afterMs: 1, to: 'late' } }, done },
      changed,
    ],
    [
      'state "new" leads to "dead", which is not one of its states',
      { new: { on: { end: 'done' }, giveUp: { after: 1, to: 'dead' } }, done },
    ],
    [
      'state "lost" cannot be reached from the initial state',
      { new: { on: { end: 'done' } }, lost: { on: { end: 'done' } }, done },
    ],
    ['state "new" is not final and has no way out', { new: { on: {} }, done }],
    [
      'state "done" is final and has a way out',
      { new: { on: { end: 'done' } }, done: { final: true, on: { back: 'new' } } },
    ],
    [
      'state "done" leads to "gone", which is not one of its states',
      { new: { on: { end: 'done' } }, done: { final: true, reopen: { again: 'gone' } } },
    ],
    ['state "new" is not final and reopens', { new: { on: { end: 'done' }, reopen: { again: 'new' } }, done }],
    [
      'state "done" has `entering`, and its rows are not held by others',
      { new: { on: { end: 'done' } }, done: { final: true, entering: { note: 'null' } } },
    ],
    [
      'state "new" has `again`, and its rows are not held by others',
      { new: { on: { end: 'done' }, again: { afterSeconds: {}, most: {}, to: 'done' } }, done },
    ],
    [
      'state "new" has numbers of claims, and its rows are held by others',
      { new: { on: { end: 'done' }, retryAfterMs: 5 }, done },
      { heldBy: 'other' },
    ],
    ['state "new" has a negative or endless startAfterMs', { new: { on: { end: 'done' }, startAfterMs: -1 }, done }],
    [
      'state "new" has a negative or endless retryAfterMs',
      { new: { on: { end: 'done' }, retryAfterMs: Number.NaN }, done },
    ],
    [
      'state "new" has a negative or endless deadlineMs',
      { new: { on: { end: 'done' }, deadlineMs: Number.POSITIVE_INFINITY }, done },
    ],
    [
      'state "new" has a negative or endless timeout.afterMs',
      { new: { on: {}, timeout: { afterMs: -5, to: 'done' } }, done },
      changed,
    ],
    [
      'state "done" has a timeout or deleteAfterMs, but no column `changedAt` is named',
      { new: { on: { end: 'done' } }, done: { final: true, deleteAfterMs: 1 } },
    ],
    [
      'state "new" is not final and has a deleteAfterMs of 0',
      { new: { on: { end: 'done' }, deleteAfterMs: 0 }, done },
      changed,
    ],
    [
      'state "new" gives up after some attempts, but no column `attempts` is named',
      { new: { on: { end: 'done' }, giveUp: { after: 1, to: 'done' } }, done },
    ],
    [
      'state "new" gives up after no whole number of attempts',
      { new: { on: { end: 'done' }, giveUp: { after: 0, to: 'done' } }, done },
      { columns: { attempts: 'attempts' } },
    ],
  ])('%s', (message, states, rest) => {
    expect(() => define(states, rest)).toThrow(new GraphError({ name: 'job' }, message))
  })
})
