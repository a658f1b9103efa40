import { chmodSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import type { Profiler } from 'node:inspector'
import { SourceMap } from 'node:module'
import { join } from 'node:path'
import { copyOfProgram, type Put, putFirst } from './program-copy.ts'

const LAUNCHER = 'plugins/chrome/on_CrawlSetup__90_chrome_launch.daemon.bg.js'
/** The entries whose processes work on pages, and who they are; workers are told apart by their command line. */
const ENTRIES = {
  'run.js': 'runner',
  'worker.js': 'worker',
  'host.js': 'hook host',
  [LAUNCHER]: 'browser launcher',
} as const

/** What a process left at its exit: its profile, and its CPU in µs, that of the main thread apart. */
interface Left {
  readonly profile: Profiler.Profile
  readonly all: NodeJS.CpuUsage
  readonly main: NodeJS.CpuUsage
}

/** A copy of the program whose processes write a CPU profile into `out` when they exit. */
export interface ProfiledProgram {
  readonly main: string
  readonly out: string
  /** What was put into the files of the copy. */
  readonly put: ReadonlyMap<string, Put>
}

/** Makes one below `root`. */
export function profiledProgram(root: string): ProfiledProgram {
  const dist = copyOfProgram(root)
  const out = join(root, 'profiles')
  mkdirSync(out)
  chmodSync(out, 0o777) // Hooks may run as somebody else.
  const put = new Map<string, Put>()
  for (const [name, role] of Object.entries(ENTRIES)) {
    const file = join(dist, name)
    put.set(file, putFirst(file, `(${benchProfiled.toString()})(${JSON.stringify(join(out, role))});`))
  }
  return { main: join(dist, 'main.js'), out, put }
}

/** Goes into the copy as text. The thread that takes the samples counts among the others. */
function benchProfiled(prefix: string): void {
  const { Session } = process.getBuiltinModule('node:inspector')
  const fs = process.getBuiltinModule('node:fs')
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.setSamplingInterval', { interval: 1_000 })
  session.post('Profiler.start')
  const at = process.argv.indexOf('worker')
  const role = at > 0 ? `${process.argv[at + 1]} ` : ''
  const write = () =>
    session.post('Profiler.stop', (_error, { profile }) => {
      const [all, main] = [process.cpuUsage(), process.threadCpuUsage()]
      const path = prefix.replace(/[^/]*$/, (name) => `${role}${name}`)
      fs.writeFileSync(`${path}-${process.pid}.json`, JSON.stringify({ profile, all, main }))
    })
  process.once('exit', write)
  // The launcher ends by the signal that it got.
  const { kill } = process
  process.kill = (pid, signal) => {
    if (pid === process.pid && signal !== 0) write()
    return kill.call(process, pid, signal)
  }
}

/** Whose work a sample is: the first rule that a frame fits, from the innermost frame outwards. */
const KINDS: readonly (readonly [kind: string, frame: RegExp])[] = [
  ['GC', /^\(garbage collector\)/],
  ['start', /node:internal\/(?:modules|bootstrap|main|process\/pre)|src\/base\/start\/|node:vm/],
  ['IPC', /node:internal\/child_process|src\/hooks\/(?:hook-job|host-protocol)|src\/workers\/supervise\/lane/],
  [
    'files',
    /node:(?:internal\/)?fs|src\/hooks\/(?:work-tree|publication|copy-tree|shown-files)|src\/base\/(?:flush|row-log)/,
  ],
  ['parse', /src\/(?:importers|browse\/(?:html|inert)|plugins\/base\/(?:html|links|light))/],
  ['pages', /src\/(?:pages|workers\/index)\//],
  ['fetch', /node:(?:_http|http|dns|tls|_tls)|src\/browse\/(?:http|network|browser|warc)/],
  ['statement', /src\/(?:db|engine|machines)\/|node:net|node:internal\/(?:streams|stream_base)/],
  ['hooks', /src\/(?:hooks|plugins)\//],
  ['work', /src\//],
]
const ORDER = [
  'start',
  'statement',
  'IPC',
  'files',
  'parse',
  'fetch',
  'pages',
  'hooks',
  'work',
  'GC',
  'rest',
  'threads',
]

/** Milliseconds of CPU by what they were for. */
export type CpuByKind = Map<string, number>

/**
 * The CPU of the processes that have ended, by role. A profile is of wall time on the main thread: its shares are those
 * of the CPU that the thread used. `threads` is what other threads used: V8's collector and compiler, and libuv's calls
 * of the file system.
 */
export function cpuByRole({ out, put }: ProfiledProgram): Map<string, CpuByKind> {
  const roles = new Map<string, CpuByKind>()
  const originOf = origins(put)
  for (const name of readdirSync(out)) {
    const role = name.replace(/-\d+\.json$/, '')
    const left = JSON.parse(readFileSync(join(out, name), 'utf8')) as Left
    const sums = roles.get(role) ?? new Map<string, number>()
    roles.set(role, sums)
    const add = (kind: string, ms: number) => sums.set(kind, (sums.get(kind) ?? 0) + ms)
    const main = (left.main.user + left.main.system) / 1_000
    add('threads', (left.all.user + left.all.system) / 1_000 - main)
    const samples = kindsOf(left.profile, originOf)
    const total = [...samples.values()].reduce((sum, count) => sum + count, 0)
    for (const [kind, count] of samples) add(kind, (main * count) / total)
  }
  return roles
}

/**
 * Milliseconds of the main threads of the processes that have ended, while a function of these sources was running, or
 * what it had called.
 */
export function cpuWithin({ out, put }: ProfiledProgram, sources: RegExp): number {
  const originOf = origins(put)
  let sum = 0
  for (const name of readdirSync(out)) {
    const { profile, main } = JSON.parse(readFileSync(join(out, name), 'utf8')) as Left
    const samples = kindsOf(profile, originOf, ([place]) => sources.test(place) && 'within')
    const all = [...samples.values()].reduce((sum, count) => sum + count, 0)
    if (all > 0) sum += ((main.user + main.system) / 1_000) * ((samples.get('within') ?? 0) / all)
  }
  return sum
}

/** What kind of work a frame is, by its source and its function; false: that of its caller. */
type KindOf = (frame: readonly [source: string, name: string]) => string | false

const byRules: KindOf = ([source, name]) => KINDS.find(([, pattern]) => pattern.test(`${name} ${source}`))?.[0] ?? false

/** Samples by kind, without those in which nothing was done. */
function kindsOf(
  { nodes, samples = [] }: Profiler.Profile,
  originOf: (frame: Frame) => string,
  kindOfFrame: KindOf = byRules,
): Map<string, number> {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)))
  const kinds = new Map<number, string>()
  const kindOf = (id: number): string => {
    const known = kinds.get(id)
    if (known !== undefined) return known
    const parent = parents.get(id)
    const { callFrame } = byId.get(id)!
    const kind =
      kindOfFrame([originOf(callFrame), callFrame.functionName]) || (parent === undefined ? 'rest' : kindOf(parent))
    kinds.set(id, kind)
    return kind
  }
  const counts = new Map<string, number>()
  for (const id of samples) {
    if (byId.get(id)?.callFrame.functionName === '(idle)') continue
    const kind = kindOf(id)
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  return counts
}

type Frame = Profiler.ProfileNode['callFrame']

/** Names the source of a frame, by the maps of the build. */
function origins(put: ReadonlyMap<string, Put>): (frame: Frame) => string {
  const maps = new Map<string, SourceMap | undefined>()
  return ({ url, lineNumber, columnNumber }) => {
    const file = url.replace('file://', '')
    if (!file.includes('/dist/')) return url
    if (!maps.has(file)) maps.set(file, mapOf(file))
    const { line, column, lines } = put.get(file) ?? { line: 0, column: 0, lines: 0 }
    const at = lineNumber - lines
    const origin = maps.get(file)?.findOrigin(at + 1, columnNumber + (at === line ? column : 0) + 1)
    return origin && 'fileName' in origin ? origin.fileName : ''
  }
}

function mapOf(file: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')))
  } catch {
    return undefined
  }
}

/** A table in ms a page: roles as lines, kinds as columns. */
export function tableOfCpu(roles: ReadonlyMap<string, CpuByKind>, pages: number): string {
  const kinds = ORDER.filter((kind) => [...roles.values()].some((sums) => (sums.get(kind) ?? 0) > 0))
  const cell = (ms: number) => (ms / pages).toFixed(2).padStart(9)
  const rows = [...roles].map(([role, sums]) => {
    const all = [...sums.values()].reduce((sum, ms) => sum + ms, 0)
    return { all, text: `${role.padEnd(18)}${cell(all)}${kinds.map((kind) => cell(sums.get(kind) ?? 0)).join('')}` }
  })
  const head = `${'ms of CPU a page'.padEnd(18)}${['all', ...kinds].map((kind) => kind.padStart(9)).join('')}`
  return [head, ...rows.toSorted((a, b) => b.all - a.all).map(({ text }) => text)].join('\n')
}
