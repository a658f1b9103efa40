import { once } from 'node:events'
import { existsSync, globSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { findProgram } from '../../src/base/find-program.ts'
import type { Figure } from './figures.ts'
import { withHome } from './home.ts'
import { cleanEnv, MAIN, type Ran, startProgram } from './program.ts'
import { withSite } from './site.ts'

const INSTALL = 'python3.13 -m venv V && V/bin/pip install abx-dl==1.12.184 abx-plugins==1.12.171'
/** They need a shop, an account, an index or another machine. */
const NOT_HERE =
  'ARCHIVEDOTORG ARCHIVEWEBPAGE CLAUDECHROME ISTILLDONTCAREABOUTCOOKIES OPENCODE SEARCH_BACKEND_RIPGREP ' +
  'SEARCH_BACKEND_SONIC SEARCH_BACKEND_SQLITE SINGLEFILE TWOCAPTCHA UBLOCK'

/** The statuses of hooks by their names. */
type Statuses = ReadonlyMap<string, string>

/**
 * ArchiveBox's own suite on one page, run by us and by abx-dl with the same settings: those of its plugins that have
 * all they need here. Only where the setting ABX_DL names an abx-dl.
 */
export async function suite(rounds: number): Promise<Figure[]> {
  // No setting of the program.
  const abxDl = process.env['ABX_DL'] ?? ''
  const [tree] = globSync(join(dirname(dirname(abxDl)), 'lib', 'python3*', 'site-packages', 'abx_plugins', 'plugins'))
  const chromium = process.env['CHROME_BINARY'] ?? findProgram('chromium', process.env['PATH'])
  if (!existsSync(abxDl) || tree === undefined || chromium === undefined) {
    console.log(`bench suite is left out: it needs chromium, and ABX_DL=V/bin/abx-dl of: ${INSTALL}`)
    return []
  }
  const ours: number[] = []
  const theirs: number[] = []
  const others: number[] = []
  await withSite(1, (site) =>
    withHome(async ({ dataDir }) => {
      const url = `${site}/page-1.html`
      const common = {
        ...cleanEnv,
        ...{ ABX_PLUGINS_DIR: tree, CHROME_BINARY: chromium, NODE_BINARY: process.execPath, TIMEOUT: '30' },
        ...off(NOT_HERE.split(' ')),
      }
      const us = async (env: NodeJS.ProcessEnv, ...args: readonly string[]) =>
        await run(process.execPath, [MAIN, '--data-dir', dataDir, '--json', ...args], env)
      const env = { ...common, ...off(await lackingAnything(us, common)) }
      for (let round = -1; round < rounds; round += 1) {
        const folder = join(dataDir, `abx-dl-${round}`)
        mkdirSync(folder)
        // 1: some hook of it failed.
        const rival = await run(abxDl, ['dl', '--no-install', '--dir', folder, '--timeout', '30', url], env, [0, 1])
        const own = await us(env, 'add', '--run', '--again', url)
        const { id } = recordsIn(own.stdout).find(({ type }) => type === 'Crawl')!
        const results = await us(env, 'result', 'list', '--crawl-id', String(id))
        const otherwise = differing(statusesIn(rival.stdout), statusesIn(results.stdout))
        if (round < 0) continue // Both find their programs, and fill their caches.
        theirs.push(rival.ms / 1000)
        ours.push(own.ms / 1000)
        others.push(otherwise.length)
        for (const line of otherwise) console.log(`  ${line}`)
      }
    }),
  )
  return [
    {
      ...{ bench: 'suite', what: "ArchiveBox's suite on one page", unit: 's', values: ours },
      rival: { name: 'abx-dl', values: theirs },
      target: { atMost: 0.7, of: 'ratio' },
    },
    {
      ...{ bench: 'suite', what: 'hooks that end otherwise', unit: '', values: others },
      target: { atMost: 0, of: 'value' },
    },
  ]
}

const off = (plugins: readonly string[]) => Object.fromEntries(plugins.map((name) => [`${name}_ENABLED`, 'False']))

/** The plugins that cannot run here. */
async function lackingAnything(
  us: (env: NodeJS.ProcessEnv, ...args: string[]) => Promise<Ran>,
  env: NodeJS.ProcessEnv,
) {
  const plugins = recordsIn((await us(env, 'plugin', 'list')).stdout)
  return plugins.flatMap(({ name, lacks }) => ((lacks as string[]).length > 0 ? [String(name).toUpperCase()] : []))
}

async function run(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  codes: readonly (number | null)[] = [0],
): Promise<Ran> {
  const begun = performance.now()
  const child = startProgram(program, args, { env, stdio: ['ignore', 'pipe', 'ignore'] })
  const stdout = text(child.stdout!)
  const [code, signal] = await once(child, 'exit')
  const ms = performance.now() - begun
  if (!codes.includes(code)) throw new Error(`${program} ${args.join(' ')} ended with ${signal ?? code}`)
  return { ms, stdout: await stdout }
}

function recordsIn(jsonl: string): Record<string, unknown>[] {
  return jsonl
    .split('\n')
    .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Record<string, unknown>] : []))
}

function statusesIn(jsonl: string): Statuses {
  const results = recordsIn(jsonl).filter(({ type }) => type === 'ArchiveResult')
  return new Map(
    results.map(({ hook_name, status }) => [String(hook_name).replace(/\.(js|py|sh|ts)$/, ''), String(status)]),
  )
}

/** The hooks of the rival that end otherwise with us. */
function differing(theirs: Statuses, ours: Statuses): string[] {
  return [...theirs].flatMap(([hook, status]) =>
    ours.get(hook) === status ? [] : [`${hook}: ${status} with abx-dl, ${ours.get(hook) ?? 'not run'} with us`],
  )
}
