// `npm run nightly -- hostile [--minutes N] [--seed S]`: sites, names, records, lists and collections from a seed, for
// as long as it is told; then the verdict. A round fails alone: `--seed S --round R` repeats it.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { messageOf } from '../../src/base/errors.ts'
import { Random } from '../soak/random.ts'
import { brokenPromises } from '../support/promises.ts'
import { Chance } from './chance.ts'
import { openedCopies } from './copies.ts'
import { House } from './house.ts'
import { collectionRound, crawlRound, listRound, parserRound, type Round, recordsRound } from './rounds.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    /** Only this round. */
    round: { type: 'string' },
  },
})
const WEIGHTS = { crawl: 2, list: 4, records: 3, collection: 1, parsers: 12 } as const
const say = (line: string) => console.log(line)
const until = performance.now() + Number(values.minutes) * 60_000

const ROUNDS: Readonly<Record<keyof typeof WEIGHTS, (chance: Chance, house: House) => Promise<Round>>> = {
  crawl: crawlRound,
  list: listRound,
  records: recordsRound,
  collection: collectionRound,
  parsers: parserRound,
}

/** What must be true when nobody works any more. */
async function verdict(house: House): Promise<string[]> {
  const { home } = house
  const open = await home.query<{ url: string }>(
    `select url from snapshot where status <> 'sealed' and status <> 'paused'`,
  )
  const crawls = await home.query<{ id: string }>(
    `select id from crawl where status <> 'sealed' and status <> 'paused'`,
  )
  const { code, stdout, stderr } = await home.run(['verify', '--json'])
  return [
    ...open.map(({ url }) => `a page did not end: ${url}`),
    ...crawls.map(({ id }) => `a crawl did not end: ${id}`),
    ...(await brokenPromises(home)).map((name) => `broken: ${name}`),
    ...(code === 0 ? [] : [`verify: exit code ${code}: ${(stdout + stderr).slice(-600)}`]),
    ...house.changed(),
    ...house.leaks().map((file) => `the secret is in ${file}`),
    ...(await openedCopies(home)),
  ]
}

say(`seed ${values.seed}, ${values.minutes} minutes`)
const failed: string[] = []
const house = await House.build({ DISK_FLOOR: '10', ...noBrowserHooks() })
try {
  let number = Number(values.round ?? 0)
  do {
    const random = new Random(Number(values.seed) * 10_007 + number)
    const kind = random.weighted(WEIGHTS)
    const round = await ROUNDS[kind](new Chance(random), house).catch(
      (error: unknown): Round => ({ what: kind, broken: [messageOf(error)] }),
    )
    rmSync(join(house.folder, 'beside', 'collection'), { recursive: true, force: true })
    const broken = [...round.broken, ...(kind === 'parsers' ? [] : await verdict(house))]
    say(`round ${number}: ${round.what}${broken.length === 0 ? '' : `: BROKEN\n  ${broken.join('\n  ')}`}`)
    failed.push(...broken.map((line) => `--seed ${values.seed} --round ${number}: ${line}`))
    number += 1
  } while (values.round === undefined && performance.now() < until)
} finally {
  failed.push(...(await house.tearDown()))
}
for (const line of failed) say(line)
say(
  failed.length === 0
    ? `seed ${values.seed}: every round is as it should be`
    : `seed ${values.seed}: ${failed.length} broken`,
)
process.exitCode = failed.length === 0 ? 0 : 1

function noBrowserHooks(): Record<string, string> {
  return { CHROME_ENABLED: 'False' }
}
