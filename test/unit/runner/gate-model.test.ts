import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { FAILPOINTS } from '../../../src/base/failpoint.ts'
import { explore, wander } from '../../model/explore.ts'
import { gateModel } from '../../model/gate.ts'
import { type Design, type Faults, FULL, type Place } from '../../model/gate-state.ts'
import { Random } from '../../soak/random.ts'
import { ROOT } from '../../support/program.ts'
import { NIGHTLY, SEED } from '../../support/seed.ts'

const here: Place = { kernel: 1, container: 1 }
const otherContainer: Place = { kernel: 1, container: 2 }
const otherHost: Place = { kernel: 2, container: 3 }
const TOGETHER = [here, here, here]
const CONTAINERS = [here, otherContainer, here]
const HOSTS = [here, here, otherHost]
/** Nothing is waited for: how long it takes is up to the machine, and at night there is much of it. */
const LIMIT_MS = NIGHTLY ? 600_000 : 60_000

const ONE_FAULT: readonly Faults[] = [
  { crashes: 1, pauses: 0 },
  { crashes: 0, pauses: 1 },
]

const without = (...mechanisms: (keyof Design)[]): Design => ({
  ...FULL,
  ...Object.fromEntries(mechanisms.map((name) => [name, false])),
})

const PLACES = [
  ['on one machine', TOGETHER],
  ['in two containers of one machine', CONTAINERS],
  ['on two machines, the newest apart', HOSTS],
  ['on two machines, the second apart', [here, otherHost, here]],
] as const

describe('the gate, in every order in which three runners can start, crash and stand still', () => {
  // One fault, and walks through more of them; every night as many as fit into memory. On two machines one that stands
  // still counts as gone, and there are most states.
  const faults = (places: readonly Place[]): readonly Faults[] => {
    const isApart = places.includes(otherHost)
    if (NIGHTLY) return isApart ? ONE_FAULT : [{ crashes: 1, pauses: 1 }]
    return isApart ? [{ crashes: 1, pauses: 0 }] : ONE_FAULT
  }
  const all = PLACES.flatMap(([name, places]) => faults(places).map((each) => [name, places, each] as const))
  it.each(all)(
    'never has two leaders, two hooks of a page, a stale write, or nobody who gets on: %s',
    (_name, places, each) => {
      const { states, trouble, way } = explore(gateModel(FULL, places, each))
      expect(trouble, way.join('\n')).toBeUndefined()
      expect(states).toBeGreaterThan(40_000)
    },
    LIMIT_MS,
  )
})

describe(`the gate, on walks with two crashes and two pauses (SEED=${SEED})`, () => {
  const walks = (design: Design, places: readonly Place[]) =>
    wander(gateModel(design, places, { crashes: 2, pauses: 2 }), new Random(SEED), NIGHTLY ? 20_000 : 1_000)

  it.each(PLACES)(
    'never has two leaders, two hooks of a page, or a stale write: %s',
    (_name, places) => {
      const { trouble, way } = walks(FULL, places)
      expect(trouble, way.join('\n')).toBeUndefined()
    },
    LIMIT_MS,
  )

  it('would meet them without the wait, the reaping or the fence', () => {
    expect(walks(without('wait', 'lock'), TOGETHER).trouble).toBe('two work loops at once')
    expect(walks(without('reap'), TOGETHER).trouble).toBe('two hooks of one page at once')
    expect(walks(without('fence'), HOSTS).trouble).toBe('a stale write was accepted')
  })
})

describe('a gate that lacks something is caught by one fault', () => {
  it.each([
    ['an index alone', without('wait', 'exitedWhenGone', 'lock', 'reap'), TOGETHER, 'two work loops at once'],
    ['no wait for older runners', without('wait', 'lock'), TOGETHER, 'two work loops at once'],
    ['the heartbeat instead of the kernel’s word', without('osTruth', 'lock'), TOGETHER, 'two work loops at once'],
    ['`exited` written right after the signal', without('exitedWhenGone', 'lock'), TOGETHER, 'two work loops at once'],
    ['no lock of the kernel, in two containers', without('lock'), CONTAINERS, 'two work loops at once'],
    ['no reaping', without('reap'), TOGETHER, 'two hooks of one page at once'],
    ['no fence, on two machines', without('fence'), HOSTS, 'a stale write was accepted'],
    [
      'no fence, and sessions of the dead left open',
      without('fence', 'endBackends'),
      TOGETHER,
      'a stale write was accepted',
    ],
    ['no index, on two machines', without('index'), HOSTS, 'stuck'],
    ['no SIGCONT and SIGKILL for who does not go', without('force'), TOGETHER, 'stuck'],
    ['claims of the dead kept', without('requeue'), TOGETHER, 'stuck'],
    ['an older one that leaves before the newer leads', without('stays'), TOGETHER, 'stuck'],
  ] as const)(
    '%s',
    (_name, design, places, expected) => {
      expect(ONE_FAULT.map((fault) => explore(gateModel(design, places, fault)).trouble)).toContain(expected)
    },
    LIMIT_MS,
  )
})

describe('the model', () => {
  it('has the steps of the code: each failpoint of the gate, and no other', () => {
    const model = readFileSync(join(ROOT, 'test', 'model', 'gate.ts'), 'utf8')
    const steps = new Set([...model.matchAll(/'([a-z]+\.[a-z_]+)'/g)].map(([, step]) => step!))
    expect([...steps].filter((step) => !(FAILPOINTS as readonly string[]).includes(step))).toEqual([])
    expect(FAILPOINTS.filter((name) => /^gate\./.test(name) && !steps.has(name))).toEqual([])
  })
})
