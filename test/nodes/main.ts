// `npm run nightly -- nodes [--minutes N] [--seed S]`: three machines, as namespaces of this one, on one database. By
// the seed they lose power, stand still, and are cut off, for moments or for longer than they are missed; pages are
// added all the while. Then all come back, and the verdict follows. As root, with iproute2 and util-linux.
import { appendFileSync, chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { sleep } from '../../src/base/abort.ts'
import { Random } from '../soak/random.ts'
import { TestHome } from '../support/homes.ts'
import { hook } from '../support/plugins.ts'
import { eventually } from '../support/program.ts'
import { Machine, Network, startPostgres } from './network.ts'
import { verdict } from './verdict.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
  },
})
const MACHINES = 3
const LOST_SECONDS = 30
/** A lease and the wait for a lost node end before the longest of these. */
const SHORT = [2, 15] as const
const LONG = [40, 110] as const
/** How long all work may take once they are back; and then the removal of older folders. */
const CALM_MS = 4 * 60_000
const DRAINED_MS = 60_000
/** What befalls a machine, and how often beside the others. */
const FAULTS = { power: 3, freeze: 3, unplug: 2, mislead: 2 } as const

const random = new Random(Number(values.seed))
const begun = performance.now()
const say = (line: string) => console.log(`${((performance.now() - begun) / 1000).toFixed(0).padStart(4)} s ${line}`)
const until = begun + Number(values.minutes) * 60_000
const folder = mkdtempSync(join(tmpdir(), 'abx-nodes-'))
chmodSync(folder, 0o755)
const ticks = join(folder, 'ticks')
appendFileSync(ticks, '')

const network = new Network()
const site = createServer((_, response) => response.end('<title>A page</title><p>Text'))
site.listen(8080, network.address)
const database = await startPostgres(folder, network.address)
const env = { NODE_LOST_SECONDS: String(LOST_SECONDS), LOG_LEVEL: 'info' }
const machines = Array.from({ length: MACHINES }, (_, at) => new Machine(network, at + 1, folder, database.url, env))
/** Where somebody adds pages and looks: it has a data dir, and never leads. */
const desk = new TestHome(join(folder, 'desk'), database.url, {})
let pages = 0

/** What a fault does, and what ends it. */
const DOES: Readonly<Record<keyof typeof FAULTS, (machine: Machine) => Promise<void>>> = {
  power: (machine) => machine.crash(),
  freeze: async (machine) => machine.freeze(),
  unplug: async (machine) => machine.unplug(),
  mislead: async (machine) => machine.mislead(),
}
const ENDS: Readonly<Record<keyof typeof FAULTS, (machine: Machine) => void>> = {
  power: (machine) => machine.boot(),
  freeze: (machine) => machine.thaw(),
  unplug: (machine) => machine.plugIn(),
  mislead: (machine) => machine.leadBack(),
}

/** One thing after the other befalls a machine. */
async function suffer(machine: Machine, own: Random): Promise<void> {
  for (;;) {
    await sleep(own.between(5, 40) * 1_000)
    if (performance.now() > until) return
    const fault = own.weighted(FAULTS)
    const seconds = own.next() < 0.5 ? own.between(...SHORT) : own.between(...LONG)
    say(`${machine.name}: ${fault} for ${seconds.toFixed(0)} s`)
    await DOES[fault](machine)
    await sleep(seconds * 1_000)
    ENDS[fault](machine)
    // A runner that gave up is started again, as by systemd.
    if (!machine.isUp) machine.boot()
  }
}

/** Crawls of some pages, now and then, from where nothing happens. */
async function add(own: Random): Promise<void> {
  for (let crawl = 1; performance.now() < until; crawl += 1) {
    const count = Math.ceil(own.between(1, 6))
    const urls = Array.from({ length: count }, (_, page) => `http://${network.address}:8080/${crawl}/${page}`)
    const { code } = await desk.run(['add', '--again', '--plugins', 'html,title,ticks', ...urls])
    if (code === 0) pages += count
    await sleep(own.between(2, 8) * 1_000)
  }
}

say(`seed ${values.seed}, ${values.minutes} minutes, ${MACHINES} machines`)
let broken: string[]
// Whoever ends us leaves no namespace behind.
const over = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => over.abort(new Error(`ended by ${name}`)))
const ended = new Promise<never>((_, reject) => over.signal.addEventListener('abort', () => reject(over.signal.reason)))
try {
  broken = await Promise.race([night(), ended])
} finally {
  for (const machine of machines) await machine.close()
  await desk.close()
  await database.stop()
  site.close()
  site.closeAllConnections()
  network.close()
  rmSync(folder, { recursive: true, force: true })
}
for (const line of broken) say(line)
say(
  broken.length === 0 ? `seed ${values.seed}: all is as it should be` : `seed ${values.seed}: ${broken.length} broken`,
)
process.exit(broken.length === 0 ? 0 : 1)

/** What happens, and the verdict. */
async function night(): Promise<string[]> {
  for (const { name, home } of [{ name: 'desk', home: desk }, ...machines]) {
    const { code, stderr } = await home.run(['init'])
    if (code !== 0) throw new Error(`init on ${name}: ${stderr}`)
    const tick = `echo "$SNAPSHOT_ID ${name} $(date +%s%3N)" >>${ticks}`
    hook(home, 'ticks', '41_ticks.sh', `for _ in {1..20}; do ${tick}; sleep 0.1; done; echo 1 >ticks.txt`)
  }
  for (const machine of machines) machine.boot()
  const chances = machines.map(() => new Random(Math.floor(random.next() * 2 ** 32)))
  const adding = new Random(Math.floor(random.next() * 2 ** 32))
  await Promise.all([add(adding), ...machines.map((machine, at) => suffer(machine, chances[at]!))])
  say('all machines are back')
  const isNone = (what: string, ms: number) =>
    eventually(() => desk.value<boolean>(`select not exists (select from ${what})`), ms).catch(() =>
      say(`left: ${what}`),
    )
  await isNone("crawl where status <> 'sealed'", CALM_MS)
  await isNone('file_job', DRAINED_MS)
  for (const machine of machines) {
    const { code } = (await machine.shutDown()) ?? { code: undefined }
    if (code !== 0) say(`${machine.name} ended with ${code}: ${machine.said.slice(-800)}`)
  }
  const found = await verdict(desk, machines, ticks)
  const moved = await desk.value<number>("select count(*)::int from transition where event = 'repeat'")
  const sealed = await desk.value<number>("select count(*)::int from snapshot where status = 'sealed'")
  say(`${pages} pages were added, ${sealed} are sealed; ${moved} hooks ran again on another node`)
  if (found.length > 0) for (const { name, said } of machines) writeFileSync(join(tmpdir(), `${name}.log`), said)
  return found
}
