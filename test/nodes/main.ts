// `npm run nightly -- nodes [--minutes N] [--seed S] [--async | --sync]`: three machines, as namespaces of this one, on
// one database that has a standby. By the seed they lose power, stand still, and are cut off, for moments or for longer
// than they are missed; one is lost with its disk; and the database fails over. Pages are added all the while. Then all
// come back, and the verdict follows. As root on Debian, with iproute2, util-linux, patroni, etcd-server and haproxy.
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
import { Cluster, missingPackages } from './cluster.ts'
import { failOver, type Night, suffer } from './faults.ts'
import { forgetLost, loseForGood } from './loss.ts'
import { Machine } from './machine.ts'
import { Network } from './network.ts'
import { type Added, verdict } from './verdict.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    async: { type: 'boolean' },
    sync: { type: 'boolean' },
  },
})
const MACHINES = 3
const LOST_SECONDS = 30
/** How long all work may take once they are back; and then the removal of older folders. */
const CALM_MS = 4 * 60_000
const DRAINED_MS = 60_000
const OPEN = "crawl where status <> 'sealed'"

const missing = missingPackages()
if (missing.length > 0) {
  console.error(`this needs packages that are missing: apt-get install ${missing.join(' ')}`)
  process.exit(1)
}
const random = new Random(Number(values.seed))
const begun = performance.now()
const say = (line: string) => console.log(`${((performance.now() - begun) / 1000).toFixed(0).padStart(4)} s ${line}`)
const folder = mkdtempSync(join(tmpdir(), 'abx-nodes-'))
chmodSync(folder, 0o755)
const ticks = join(folder, 'ticks')
appendFileSync(ticks, '')

const isSync = values.async || values.sync ? !values.async : random.next() < 0.5
const network = new Network()
const site = createServer((_, response) => response.end('<title>A page</title><p>Text'))
site.listen(8080, network.address)
const cluster = new Cluster(network, folder, isSync)
const env = { NODE_LOST_SECONDS: String(LOST_SECONDS), LOG_LEVEL: 'info' }
const machines = Array.from({ length: MACHINES }, (_, at) => new Machine(network, at + 1, folder, cluster.url, env))
/** Where somebody adds pages and looks: it has a data dir, and never leads. */
const desk = new TestHome(join(folder, 'desk'), cluster.url, env)
const added: Added[] = []

/** Crawls of some pages, now and then, from where nothing happens. */
async function add(own: Random, until: number): Promise<void> {
  for (let crawl = 1; performance.now() < until; crawl += 1) {
    const count = Math.ceil(own.between(1, 6))
    const urls = Array.from({ length: count }, (_, page) => `http://${network.address}:8080/${crawl}/${page}`)
    const { code, stdout } = await desk.run(['add', '--again', '--plugins', 'html,title,ticks', ...urls])
    if (code === 0) added.push({ crawl: JSON.parse(stdout).id, pages: count })
    await sleep(own.between(2, 8) * 1_000)
  }
}

/** Makes a data dir. */
async function ready({ name, home }: Pick<Machine, 'name' | 'home'>): Promise<void> {
  const { code, stderr } = await home.run(['init'])
  if (code !== 0) throw new Error(`init on ${name}: ${stderr}`)
  const tick = `echo "$SNAPSHOT_ID ${name} $run $(date +%s%3N)" >>${ticks}`
  hook(
    home,
    'ticks',
    '41_ticks.sh',
    `run=$RANDOM$RANDOM; for _ in {1..20}; do ${tick}; sleep 0.1; done; echo 1 >ticks.txt`,
  )
}

say(
  `seed ${values.seed}, ${values.minutes} minutes, ${MACHINES} machines, ${isSync ? 'a ' : 'an a'}synchronous standby`,
)
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
  await cluster.close()
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
  await cluster.start()
  await ready({ name: 'desk', home: desk })
  for (const machine of machines) {
    await ready(machine)
    machine.boot()
  }
  const it: Night = { network, say, until: performance.now() + Number(values.minutes) * 60_000 }
  const chance = () => new Random(Math.floor(random.next() * 2 ** 32))
  const unlucky = machines[Math.floor(random.next() * MACHINES)]!
  const others = machines.filter((machine) => machine !== unlucky)
  const [lost] = await Promise.all([
    loseForGood(unlucky, chance(), it, ready),
    add(chance(), it.until),
    failOver(cluster, chance(), it),
    ...others.map((machine) => suffer(machine, chance(), it)),
  ])
  say('all machines are back')
  await isNone(OPEN, CALM_MS)
  const found = await forgetLost(desk, lost, say)
  await isNone(OPEN, CALM_MS)
  await isNone('file_job', DRAINED_MS)
  for (const machine of machines) {
    const { code } = (await machine.shutDown()) ?? { code: undefined }
    if (code !== 0) say(`${machine.name} ended with ${code}: ${machine.said.slice(-800)}`)
  }
  found.push(...(await verdict({ home: desk, machines, isSync, added, ticks, say })))
  const moved = await desk.value<number>("select count(*)::int from transition where event = 'repeat'")
  const sealed = await desk.value<number>("select count(*)::int from snapshot where status = 'sealed'")
  const pages = added.reduce((sum, one) => sum + one.pages, 0)
  say(`${pages} pages were added, ${sealed} are sealed; ${moved} hooks ran again on another node`)
  if (found.length > 0) for (const { name, said } of machines) writeFileSync(join(tmpdir(), `${name}.log`), said)
  return found
}

/** Waits until no row is left there, and says so when that takes too long. */
async function isNone(what: string, ms: number): Promise<void> {
  const ask = () => desk.value<boolean>(`select not exists (select from ${what})`)
  await eventually(ask, ms).catch(() => say(`left: ${what}`))
}
