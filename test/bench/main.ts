import { tmpdir } from 'node:os'
import { captures } from './captures.ts'
import { crawl } from './crawl.ts'
import { database } from './database.ts'
import { engine } from './engine.ts'
import { engineKill } from './engine-kill.ts'
import { engineScale } from './engine-scale.ts'
import { type Figure, tableOf } from './figures.ts'
import { history } from './history.ts'
import { removeAllDataDirs } from './home.ts'
import { hooks } from './hooks.ts'
import { imports } from './imports.ts'
import { list } from './list.ts'
import { memory } from './memory.ts'
import { nodes } from './nodes.ts'
import { backedUp, exported, verified } from './out.ts'
import { page } from './page.ts'
import { pageShare } from './page-share.ts'
import { pages } from './pages.ts'
import { killChildren } from './program.ts'
import { queue } from './queue.ts'
import { scaleViews } from './scale-views.ts'
import { screens } from './screens.ts'
import { server } from './server.ts'
import { standby } from './standby.ts'
import { start } from './start.ts'
import { suite } from './suite.ts'
import { takeover } from './takeover.ts'
import { tricks } from './tricks.ts'

/** Each bench with the rounds it takes until its medians stand still on a quiet machine. */
const BENCHES = {
  start: { run: start, rounds: 15 },
  takeover: { run: takeover, rounds: 5 },
  standby: { run: standby, rounds: 3 },
  history: { run: history, rounds: 9 },
  page: { run: page, rounds: 5 },
  crawl: { run: crawl, rounds: 3 },
  memory: { run: memory, rounds: 1 },
  captures: { run: captures, rounds: 3 },
  list: { run: list, rounds: 2 },
  queue: { run: queue, rounds: 3 },
  nodes: { run: nodes, rounds: 3 },
  imports: { run: imports, rounds: 3 },
  export: { run: exported, rounds: 3 },
  verify: { run: verified, rounds: 5 },
  backup: { run: backedUp, rounds: 1 },
  database: { run: database, rounds: 5 },
  server: { run: server, rounds: 3 },
  engine: { run: engine, rounds: 3 },
  'engine-scale': { run: engineScale, rounds: 3 },
  'engine-kill': { run: engineKill, rounds: 5 },
  pages: { run: pages, rounds: 5 },
  'page-share': { run: pageShare, rounds: 1 },
  'scale-views': { run: scaleViews, rounds: 5 },
  plugins: { run: hooks, rounds: 7 },
  screens: { run: screens, rounds: 3 },
  suite: { run: suite, rounds: 3 },
  tricks: { run: tricks, rounds: 3 },
} as const satisfies Record<string, { run: (rounds: number) => Promise<Figure[]>; rounds: number }>
type Name = keyof typeof BENCHES

const USAGE = `usage: npm run bench [-- ${Object.keys(BENCHES).join('|')} ...] [--rounds N]`

const names: Name[] = []
let rounds: number | undefined
for (let rest = process.argv.slice(2); rest.length > 0; ) {
  const [word = '', value, ...more] = rest
  const isRounds = word === '--rounds' && /^[1-9]\d*$/.test(value ?? '')
  if (isRounds) rounds = Number(value)
  else if (word in BENCHES) names.push(word as Name)
  else {
    console.error(`error: not a bench: ${word}\n${USAGE}`)
    process.exit(2)
  }
  rest = isRounds ? more : rest.slice(1)
}

let leaving = false
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    // A terminal and our parent may both pass it on.
    if (leaving) return
    leaving = true
    killChildren()
    void removeAllDataDirs().finally(() => process.exit(130))
  })
}

const figures: Figure[] = []
for (const name of names.length > 0 ? names : (Object.keys(BENCHES) as Name[])) {
  const bench = BENCHES[name]
  try {
    const measured = await bench.run(rounds ?? bench.rounds)
    process.stdout.write(tableOf(measured))
    figures.push(...measured)
  } catch (error) {
    console.error(`error: bench ${name} broke: ${error instanceof Error ? error.message : String(error)}`)
    process.exitCode = 1
  } finally {
    await removeAllDataDirs()
  }
}
console.log(
  '\nMedian [min..max] of the rounds; ratios are taken round by round. ' +
    `Node ${process.versions.node}, data dirs in ${tmpdir()} (TMPDIR).`,
)
process.stdout.write(tableOf(figures))
