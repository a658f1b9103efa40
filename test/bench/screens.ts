import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Home } from '../../src/db/home.ts'
import { cpuBelow } from './cpu.ts'
import type { Figure } from './figures.ts'
import { withHome } from './home.ts'
import { archivebox, cleanEnv, MAIN, until } from './program.ts'

const PAGES = 300
/** Pages take their time, so that some are always in work, and some end each second. */
const SLOW = ['--plugins', 'slow', '-c', 'SLOW_SECONDS=1'] as const
const MEASURED_MS = 10_000
const MOST_PERCENT = 2
const MOST_LATE_MS = 200

interface Seen {
  /** Of a core. */
  readonly percent: number
  /** How late ends of pages were shown, each. */
  readonly lateMs: readonly number[]
}

/** What it costs to look: the screens that change while work goes on, and how soon they show that a page ended. */
export async function screens(rounds: number): Promise<Figure[]> {
  const taken: Record<'watch' | 'add' | 'run' | 'daemon', Seen[]> = { watch: [], add: [], run: [], daemon: [] }
  for (let round = 0; round < rounds; round += 1)
    await withHome(async (home) => {
      cpSync(join(import.meta.dirname, '..', 'fixtures', 'plugins', 'slow'), join(home.dataDir, 'plugins', 'slow'), {
        recursive: true,
      })
      taken.add.push(await looked(home, ['add', '--run', ...SLOW, ...urls('a')], 'command'))
      await archivebox(home.dataDir, 'add', ...SLOW, ...urls('r'))
      taken.daemon.push(await looked(home, ['run', '--daemon'], 'runner'))
      taken.run.push(await looked(home, ['run'], 'runner'))
      const runner = onTerminal(home, ['run', '--daemon'])
      taken.watch.push(await looked(home, ['status', '--watch'], 'command'))
      await ended(runner)
    })
  const percent = (what: string, values: readonly number[]): Figure => ({
    bench: 'screens',
    what: `${what}: CPU of a core`,
    unit: '%',
    values,
    target: { atMost: MOST_PERCENT, of: 'value' },
  })
  const late = (what: string, seen: readonly Seen[]): Figure => ({
    bench: 'screens',
    what: `${what}: a page that ended is shown`,
    unit: 'ms',
    values: seen.flatMap(({ lateMs }) => lateMs),
    target: { atMost: MOST_LATE_MS, of: 'value' },
  })
  const percents = (seen: readonly Seen[]) => seen.map((each) => each.percent)
  return [
    percent('status --watch', percents(taken.watch)),
    percent('add --run', percents(taken.add)),
    percent(
      'run, above run --daemon',
      taken.run.map((seen, round) => seen.percent - taken.daemon[round]!.percent),
    ),
    late('add --run', taken.add),
    late('run', taken.run),
  ]
}

const urls = (name: string) => Array.from({ length: PAGES }, (_, at) => `http://127.0.0.1:9/${name}-${at}-`)

interface Looked {
  readonly child: ChildProcess
  /** When each page was shown as ended, by its URL. */
  readonly shown: ReadonlyMap<string, number>
}

/** Runs a command on a terminal of 100 columns, which `script` makes. */
function onTerminal({ dataDir }: Home, args: readonly string[]): Looked {
  const command = [process.execPath, MAIN, '--data-dir', dataDir, ...args].map((word) => `'${word}'`).join(' ')
  const child = spawn('script', ['-qfec', `stty cols 100 rows 40; exec ${command}`, '/dev/null'], {
    env: { ...cleanEnv, TERM: 'xterm' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const shown = new Map<string, number>()
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    for (const [, url] of text.matchAll(/[✓✗~·]\S* (http\S+)/g)) shown.set(url!, Date.now())
  })
  return { child, shown }
}

/** CPU and delays of one screen while pages end; then it is ended. */
async function looked(home: Home, args: readonly string[], role: string): Promise<Seen> {
  const begun = new Date()
  const look = onTerminal(home, args)
  const { pid } = look.child
  const cpuMs = () => cpuBelow(pid!)[role] ?? 0
  await until('pages end', 100, async () => (await ends(home, begun)).length > 3 || undefined)
  const before = { cpu: cpuMs(), at: performance.now() }
  await new Promise((resolve) => setTimeout(resolve, MEASURED_MS))
  const percent = (100 * (cpuMs() - before.cpu)) / (performance.now() - before.at)
  const all = await ends(home, begun)
  await ended(look)
  const lateMs = all.flatMap(({ url, at }) => {
    const seenAt = look.shown.get(url)
    return seenAt === undefined ? [] : [seenAt - at.getTime()]
  })
  return { percent, lateMs }
}

async function ends({ db }: Home, since: Date): Promise<{ url: string; at: Date }[]> {
  const { rows } = await sql<{ url: string; at: Date }>`
    select url, status_changed_at as at from snapshot
    where status = 'sealed' and status_changed_at > ${since}`.execute(db)
  return rows
}

/** Ctrl-C, twice: the second ends hooks, too. */
async function ended({ child }: Looked): Promise<void> {
  const over = once(child, 'exit')
  child.stdin!.write('\u0003')
  await new Promise((resolve) => setTimeout(resolve, 500))
  child.stdin!.write('\u0003')
  await over
}
