import { describe, expect, it } from 'vitest'
import { FAILPOINTS } from '../../../src/base/failpoint.ts'
import { stepsTaken } from '../../model/explore.ts'
import { gateModel } from '../../model/gate.ts'
import { FULL } from '../../model/gate-state.ts'
import { failpoints, fired } from '../../support/failpoints.ts'
import { useHomes } from '../../support/homes.ts'

const homes = useHomes()
const here = { kernel: 1, container: 1 }
const STEPS = FAILPOINTS.filter((name) => /^gate\./.test(name))

describe('a real takeover', () => {
  it.each([
    ['from a leader that hands over', '', ['gate.older_gone']],
    [
      'from a leader that is held up, and killed',
      'shutdown.drain_seen=sleep:60000',
      ['gate.killed', 'gate.older_gone'],
    ],
  ])('takes the steps of the model, in their order: %s', async (_name, heldUp, expected) => {
    const home = await homes.make()
    const first = home.start(['run'], { env: heldUp ? { ARCHIVEBOX_FAILPOINTS: heldUp } : {} })
    await first.says(/leading/)
    // Long enough that the clock of the file system tells them apart.
    const points = STEPS.map((name) => `${name}=sleep:20`).join(';')
    const second = home.start(['run', '--exit-on-idle', '--handoff-grace', '1'], { env: failpoints(home, points) })
    const { code, stderr } = await second.finished()
    expect(code, stderr).toBe(0)
    await first.finished()
    const steps = [...fired(home).keys()]
    expect(steps).toEqual(expect.arrayContaining(expected))
    expect(steps.at(-1)).toBe('gate.promoted')
    expect(stepsTaken(gateModel(FULL, [here, here], { crashes: 0, pauses: 0 }), '1', steps)).toEqual(steps)
  })
})
