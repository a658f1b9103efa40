import { sleep } from '../../src/base/abort.ts'
import type { Random } from '../soak/random.ts'
import type { TestHome } from '../support/homes.ts'
import type { Night } from './faults.ts'
import type { Machine } from './machine.ts'

/** How long nothing is in the place of a machine that is lost for good. */
const EMPTY = [10, 60] as const

/** At some moment a machine is lost with its disk; later a new one is in its place. @returns the id of what was lost */
export async function loseForGood(
  machine: Machine,
  own: Random,
  { until, say }: Night,
  ready: (machine: Machine) => Promise<void>,
): Promise<string> {
  await sleep(own.between(0.3, 0.7) * (until - performance.now()))
  const id = await machine.id()
  say(`${machine.name}: lost for good, ${id}`)
  await machine.loseForGood()
  await sleep(own.between(...EMPTY) * 1_000)
  await ready(machine)
  say(`${machine.name}: a new one is in its place`)
  machine.boot()
  return id
}

/**
 * Forgets a node that does not come back, and archives again what was only there. Its runners must be up.
 * @returns what is not as it should be
 */
export async function forgetLost(home: TestHome, id: string, say: (line: string) => void): Promise<string[]> {
  const there = await home.query<{ id: string }>("select id from snapshot where home_node = $1 and status = 'sealed'", [
    id,
  ])
  const forgot = await home.run(['node', 'forget', '--yes', id])
  if (forgot.code !== 0) return [`node forget ended with ${forgot.code}: ${forgot.stderr}`]
  const failed = await home.query<{ id: string; cause: string }>(
    "select id, cause from snapshot where outcome = 'failed'",
  )
  say(`${there.length} pages had their files on the machine that was lost for good only`)
  const wrong = failed.filter(({ cause }) => !/its files were on node .*, which was forgotten/.test(cause))
  const unsaid = there.filter((page) => !failed.some((other) => other.id === page.id))
  const listed = await home.run(['snapshot', 'list', '--outcome', 'failed'])
  const retried = await home.run(['snapshot', 'retry', '--failed', '-'], { input: listed.stdout })
  return [
    ...wrong.map(({ id, cause }) => `page ${id} failed: ${cause}`),
    ...unsaid.map((page) => `page ${page.id} does not say that its files are gone`),
    ...(retried.code === 0 || there.length === 0
      ? []
      : [`snapshot retry ended with ${retried.code}: ${retried.stderr}`]),
  ]
}
