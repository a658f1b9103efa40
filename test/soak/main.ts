// `npm run soak -- --minutes N --seed S`: several runners, hundreds of pages, and a random fault every few seconds;
// then the verdict.
import { parseArgs } from 'node:util'
import { messageOf } from '../../src/base/errors.ts'
import { type Finding, printed } from '../support/verdict.ts'
import { inflict, kindsOf } from './faults.ts'
import { type Fault, scheduleOf } from './schedule.ts'
import { shrink } from './shrink.ts'
import { World } from './world.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    urls: { type: 'string', default: '200' },
    /** So many times more faults. */
    pace: { type: 'string', default: '1' },
    /** How many runs may be spent on making a failing schedule smaller. */
    shrink: { type: 'string', default: '12' },
    /** Pages are captured by a browser, which has its faults, too. */
    captures: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
})
const lengthMs = Number(values.minutes) * 60_000
const say = (line: string) => console.log(line)

/** One run of a schedule, from an empty data dir to the verdict. */
async function runOnce(schedule: readonly Fault[]): Promise<Finding[]> {
  const world = await World.make(Number(values.urls), values.captures)
  let broken = true
  try {
    const begun = performance.now()
    for (const fault of schedule) {
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, fault.atMs - (performance.now() - begun))))
      const what = await inflict(world, fault).catch((error: unknown) => `could not: ${messageOf(error)}`)
      say(`${((performance.now() - begun) / 1000).toFixed(1).padStart(7)} s  ${fault.kind}: ${what}`)
    }
    const findings = await world.end(say)
    broken = isBroken(findings)
    return findings
  } finally {
    if (broken) say(`what its runners said: ${world.log}`)
    await world.remove(values.keep || broken)
  }
}

const isBroken = (findings: readonly Finding[]) => findings.some((finding) => finding.broken.length > 0)

const schedule = scheduleOf(kindsOf(values.captures), Number(values.seed), lengthMs, Number(values.pace))
say(`seed ${values.seed}: ${schedule.length} faults in ${values.minutes} minutes, ${values.urls} pages and more`)
const findings = await runOnce(schedule)
say(printed(findings))
if (isBroken(findings)) {
  say(`seed ${values.seed} breaks an invariant; looking for the smallest schedule that does`)
  const smallest = await shrink(schedule, async (part) => isBroken(await runOnce(part)), Number(values.shrink))
  say(`smallest schedule found, ${smallest.length} of ${schedule.length} faults:`)
  for (const fault of smallest) say(JSON.stringify(fault))
  process.exitCode = 1
} else say(`seed ${values.seed}: every invariant holds`)
