import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { endedChildrenMs, postgresMs, TreeWatch } from './cpu.ts'
import type { Figure } from './figures.ts'
import { withHome } from './home.ts'
import { NPM_ONLY } from './plugins.ts'
import { archivebox, cleanEnv, MAIN, startNode } from './program.ts'
import { copyOfProgram } from './program-copy.ts'
import { withSite } from './site.ts'

const PAGES = 1_000

/** Something that was done for speed or memory, and what undoes it: a text of the built program, or a setting. */
interface Trick {
  readonly what: string
  readonly undo?: readonly [text: string, by: string]
  readonly env?: Readonly<Record<string, string>>
}

/** docs/performance.md says what each is, and what it bought. */
const TRICKS: readonly Trick[] = [
  { what: 'a young generation of 8 MB in workers', undo: ['--max-semi-space-size=8', '--max-semi-space-size=1'] },
  { what: 'one of 4 MB in hosts', undo: ['--max-semi-space-size=4', '--max-semi-space-size=1'] },
  { what: 'a host for 1,000 jobs', undo: ['MAX_JOBS=1e3', 'MAX_JOBS=100'] },
  { what: 'one plan a statement', undo: ['onePlan:true', 'onePlan:false'] },
  { what: 'prepared statements', undo: ['prepare:embedded', 'prepare:false'] },
  { what: 'claims that no disk waits for', undo: ['archivebox.synchronous_commit=off', 'archivebox.none=off'] },
  { what: 'freed memory goes back', undo: ['MALLOC_MMAP_THRESHOLD_:`8192`', 'MALLOC_MMAP_THRESHOLD_:`131072`'] },
  { what: 'up to four pages in a worker', undo: ['snapshot:4}', 'snapshot:2}'] },
  { what: 'quick pages written once', undo: ['before.isNew', 'before.isNone'] },
  { what: 'a page more than cores', env: { MAX_SNAPSHOT_WORKERS: String(Math.max(2, availableParallelism())) } },
]

/** What a crawl without a browser costs. */
interface Cost {
  readonly cpuMs: number
  readonly wallMs: number
  readonly mb: number
}

/** What each trick buys in a crawl of 1,000 pages without a browser: the same program without it, in turn. */
export async function tricks(rounds: number): Promise<Figure[]> {
  const root = mkdtempSync(join(tmpdir(), 'archivebox-ts-bench-tricks-'))
  try {
    chmodSync(root, 0o755) // As root, hooks run as somebody else.
    const without = TRICKS.map((trick, at) => ({ ...trick, main: programWithout(join(root, String(at)), trick) }))
    const costs = without.map(({ what }) => ({ what, whole: [] as Cost[], costs: [] as Cost[] }))
    await withSite(PAGES, async (site) => {
      for (let round = 0; round < rounds; round += 1) {
        for (const [at, { main, env }] of without.entries()) {
          // Each beside the whole program: a busy machine changes within minutes.
          costs[at]!.whole.push(await costOf(site, MAIN))
          costs[at]!.costs.push(await costOf(site, main, env))
        }
      }
    })
    return costs.flatMap(({ what, whole, costs }) =>
      (['cpuMs', 'wallMs', 'mb'] as const).map((name) => ({
        bench: 'tricks',
        what: `without ${what}: ${{ cpuMs: 'CPU a page', wallMs: 'wall a page', mb: 'memory' }[name]}`,
        unit: name === 'mb' ? 'MB' : 'ms',
        values: costs.map((cost) => cost[name]),
        rival: { name: 'with it', values: whole.map((cost) => cost[name]) },
      })),
    )
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/** The built program without a trick. Throws when it has no such text. */
function programWithout(folder: string, { what, undo }: Trick): string {
  if (!undo) return MAIN
  mkdirSync(folder)
  const dist = copyOfProgram(folder)
  const files = readdirSync(dist).filter((name) => name.endsWith('.js'))
  const changed = files.filter((name) => {
    const text = readFileSync(join(dist, name), 'utf8')
    if (!text.includes(undo[0])) return false
    writeFileSync(join(dist, name), text.replaceAll(undo[0], undo[1]))
    return true
  })
  if (changed.length === 0) throw new Error(`the program has no ${undo[0]}: ${what}`)
  return join(dist, 'main.js')
}

async function costOf(site: string, main: string, env: Readonly<Record<string, string>> = {}): Promise<Cost> {
  return await withHome(async ({ dataDir }) => {
    await archivebox(dataDir, 'add', '--depth', '1', ...NPM_ONLY, `${site}/`)
    const before = endedChildrenMs() + postgresMs(dataDir)
    const begun = performance.now()
    const args = [main, '--data-dir', dataDir, 'run', '--exit-on-idle', '--daemon']
    const runner = startNode(args, { env: { ...cleanEnv, ...env }, stdio: 'ignore' })
    const watch = new TreeWatch(runner.pid!, dataDir)
    const [code] = await once(runner, 'exit')
    const wallMs = performance.now() - begun
    const mb = watch.end().reduce((sum, { pssMb }) => sum + pssMb, 0)
    if (code !== 0) throw new Error(`the runner ended with ${code}`)
    const cpuMs = endedChildrenMs() + postgresMs(dataDir) - before
    return { cpuMs: cpuMs / (PAGES + 1), wallMs: wallMs / (PAGES + 1), mb }
  })
}
