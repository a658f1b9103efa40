import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { FAILPOINTS } from '../../src/base/failpoint.ts'
import { explore } from '../model/explore.ts'
import { type Design, FULL, gateModel, type Place } from '../model/gate.ts'
import { ROOT } from '../support/program.ts'

const here: Place = { kernel: 1, container: 1 }
const otherContainer: Place = { kernel: 1, container: 2 }
const otherHost: Place = { kernel: 2, container: 3 }
const TOGETHER = [here, here, here]
const CONTAINERS = [here, otherContainer, here]
const HOSTS = [here, here, otherHost]
const MINUTE = 60_000

const without = (...mechanisms: (keyof Design)[]): Design => ({ ...FULL, ...Object.fromEntries(mechanisms.map((name) => [name, false])) })

describe('the gate, in every order in which three runners can start, crash and stand still', () => {
  it.each([
    ['on one machine, with two crashes', TOGETHER, 2],
    ['in two containers of one machine', CONTAINERS, 1],
    ['on two machines, the newest apart', HOSTS, 1],
    ['on two machines, the second apart', [here, otherHost, here], 1],
  ] as const)(
    'never has two leaders, two hooks of a page, a stale write, or nobody who gets on: %s',
    (_name, places, crashes) => {
      const { states, trouble, way } = explore(gateModel(FULL, places, { crashes, pauses: 1 }))
      expect(trouble, way.join('\n')).toBeUndefined()
      expect(states).toBeGreaterThan(100_000)
    },
    MINUTE,
  )
})

describe('a gate that lacks something is caught', () => {
  it.each([
    ['an index alone', without('wait', 'exitedWhenGone', 'lock', 'sweep'), TOGETHER, 'two work loops at once'],
    ['no wait for older runners', without('wait', 'lock'), TOGETHER, 'two work loops at once'],
    ['the heartbeat instead of the kernel’s word', without('osTruth', 'lock'), TOGETHER, 'two work loops at once'],
    ['`exited` written right after the signal', without('exitedWhenGone', 'lock'), TOGETHER, 'two work loops at once'],
    ['no lock of the kernel, in two containers', without('lock'), CONTAINERS, 'two work loops at once'],
    ['no sweep', without('sweep'), TOGETHER, 'two hooks of one page at once'],
    ['no fence, on two machines', without('fence'), HOSTS, 'a stale write was accepted'],
    ['no fence, and sessions of the dead left open', without('fence', 'endBackends'), TOGETHER, 'a stale write was accepted'],
    ['no index, on two machines', without('index'), HOSTS, 'stuck'],
    ['no SIGCONT and SIGKILL for who does not go', without('force'), TOGETHER, 'stuck'],
    ['claims of the dead kept', without('requeue'), TOGETHER, 'stuck'],
  ] as const)(
    '%s',
    (_name, design, places, expected) => {
      const { trouble, way } = explore(gateModel(design, places, { crashes: 1, pauses: 1 }))
      expect(trouble, way.join('\n')).toBe(expected)
    },
    MINUTE,
  )
})

describe('the model', () => {
  it('has the steps of the code: each failpoint of the gate and the sweep, and no other', () => {
    const model = readFileSync(join(ROOT, 'test', 'model', 'gate.ts'), 'utf8')
    const steps = new Set([...model.matchAll(/'([a-z]+\.[a-z_]+)'/g)].map(([, step]) => step!))
    expect([...steps].filter((step) => !(FAILPOINTS as readonly string[]).includes(step))).toEqual([])
    expect(FAILPOINTS.filter((name) => /^(gate|sweep)\./.test(name) && !steps.has(name))).toEqual([])
  })
})
