import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Home } from '../../src/db/home.ts'
import type { Figure } from './figures.ts'
import { withHome } from './home.ts'
import { watchPeak } from './peak.ts'
import { MAIN, startNode } from './program.ts'
import { startRunner, stop } from './runner.ts'

const URLS = 1_000_000
/** The list rests between its parts, since its first pages are due meanwhile. */
const PARTS = 50
const LOOK_MS = 50

interface Listed {
  readonly addS: number
  readonly addMb: number
  readonly firstPageS: number
  readonly pagesS: number
}

/** A list of a million URLs: added, begun, and partly made into pages while the first are archived. */
export async function list(rounds: number): Promise<Figure[]> {
  const runs: Listed[] = []
  for (let round = 0; round < rounds; round += 1) runs.push(await withHome(listOnce))
  const figure = (what: string, unit: Figure['unit'], name: keyof Listed, atMost?: number): Figure => ({
    bench: 'list',
    what,
    unit,
    values: runs.map((run) => run[name]),
    ...(atMost === undefined ? {} : { target: { atMost, of: 'value' } }),
  })
  return [
    figure(`add --file, ${URLS} URLs`, 's', 'addS', 60),
    figure('its peak memory', 'MB', 'addMb', 500),
    figure('run to its first page begun', 's', 'firstPageS', 10),
    figure(`run to ${PARTS} parts of the list being pages`, 's', 'pagesS'),
  ]
}

async function listOnce(home: Home): Promise<Listed> {
  const file = join(home.dataDir, 'list.txt')
  await writeList(file)
  const begun = performance.now()
  const add = startNode([MAIN, '--data-dir', home.dataDir, 'add', '--plugins', 'headers', '--file', file], {
    stdio: 'ignore',
  })
  const peak = watchPeak(add.pid!)
  const [code] = await once(add, 'exit')
  const addS = (performance.now() - begun) / 1000
  if (code !== 0) throw new Error(`add ended with ${code}`)

  const runner = startRunner(home)
  try {
    const since = async (look: ReturnType<typeof sql>) => {
      while ((await look.execute(home.db)).rows.length === 0) await delay(LOOK_MS)
      return (performance.now() - runner.spawnedAt) / 1000
    }
    const firstPageS = await since(sql`select 1 from snapshot where status = 'started' or status = 'sealed' limit 1`)
    const pagesS = await since(sql`select 1 from crawl where next_part >= ${PARTS}`)
    return { addS, addMb: peak.end(), firstPageS, pagesS }
  } finally {
    await stop(runner)
  }
}

/** URLs of about 60 characters where nobody listens: a page of them costs no more than it must. */
async function writeList(file: string): Promise<void> {
  const stream = createWriteStream(file)
  for (let n = 0; n < URLS; n += 10_000) {
    const lines = Array.from(
      { length: 10_000 },
      (_, i) => `http://127.0.0.1:9/articles/2024/some-title-of-a-page/${n + i}.html\n`,
    )
    if (!stream.write(lines.join(''))) await once(stream, 'drain')
  }
  stream.end()
  await once(stream, 'finish')
}
