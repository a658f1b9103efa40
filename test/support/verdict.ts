import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { TestHome } from './homes.ts'
import type { Observed } from './observer.ts'
import { wrongOutputs } from './outputs.ts'
import { processesOf } from './processes.ts'
import { brokenPromises } from './promises.ts'

/** A test's outside knowledge of a home, to compare with the program's own statements. */
export interface Ledger {
  /** Every URL that `add` accepted: none may be lost. */
  readonly urls: readonly string[]
  readonly observed?: Observed
}

/** One invariant, how it was checked, and what breaks it. */
export interface Finding {
  readonly name: string
  readonly how: string
  readonly broken: readonly string[]
}

interface Check {
  readonly name: string
  readonly how: string
  readonly look: (home: TestHome, ledger: Ledger) => string[] | Promise<string[]>
}

/** Claims without a clean end before a page is given up (archive-snapshot.ts), and the one that gives it up. */
const MAX_ATTEMPTS = 6

/** The invariants at rest, by number: all work has ended, and everything that was requested is done. */
const CHECKS: readonly Check[] = [
  {
    name: 'I1 I3 I5 I8 I9 I10 I13: rows keep every promise',
    how: 'SQL over all rows and their history',
    look: (home) => brokenPromises(home),
  },
  {
    name: 'I1 I3 I7 I14 I15 I20 I23: nothing was seen to break while it went on',
    how: 'a process outside, every 250 ms, by SQL and /proc',
    look: (_home, { observed }) => (observed ? observed.seen.slice() : []),
  },
  {
    name: 'I2 I6: no hooks of two runners lived at once',
    how: 'each hook holds a lock of the kernel for its runner',
    look: (home) => oracle(home).filter((line) => line.startsWith('RUNNERS')),
  },
  {
    name: 'I5 I6: no hook ran twice at once on one page',
    how: 'each hook holds a lock of the kernel',
    look: (home) => oracle(home).filter((line) => line.startsWith('OVERLAP')),
  },
  {
    name: 'I7: nothing is left running',
    how: 'every environment, command line and working directory in /proc',
    look: (home) =>
      processesOf(home.dataDir)
        .filter(({ command }) => !command.includes('postgres'))
        .map(({ pid, command }) => `${pid} ${command}`),
  },
  {
    name: 'I11: what a result names is there, whole, and named by no other',
    how: 'sizes, and SHA-256 against hashes.json',
    look: missingFiles,
  },
  {
    name: 'I12: outputs stay inside',
    how: 'no pipe or device below archive/, and no link out of the folder of its plugin',
    look: (home) => strangeEntries(join(home.dataDir, 'archive')),
  },
  {
    name: 'I15: no row of a process is open',
    how: 'SQL',
    look: async (home) =>
      namesOf(
        await home.query(
          "select process_type || ' ' || status || ' ' || pid as name from process " +
            "where status not in ('exited', 'lost')",
        ),
      ),
  },
  {
    name: 'I16: nothing is stuck',
    how: 'SQL: no open row, no claim, no open result',
    look: async (home) =>
      namesOf(
        await home.query(`
          select 'crawl ' || id || ' ' || status as name from crawl
            where status <> 'sealed' or claim_token is not null union all
          select 'page ' || url || ' ' || status from snapshot
            where status <> 'sealed' or claim_token is not null union all
          select 'result ' || r.id || ' ' || r.status from archive_result r
            where r.status in ('queued', 'started', 'backoff')`),
      ),
  },
  {
    name: 'I17 I27: nothing that was accepted is lost',
    how: 'the URLs that `add` accepted against the rows and the folders',
    look: async (home, { urls }) => {
      const rows = await home.query<{ url: string; output_dir: string }>('select url, output_dir from snapshot')
      const there = new Set(
        rows.filter(({ output_dir }) => existsSync(join(home.dataDir, output_dir, 'index.html'))).map(({ url }) => url),
      )
      return urls.filter((url) => !there.has(url))
    },
  },
  {
    name: 'I18: no page was tried more often than allowed',
    how: 'SQL',
    look: async (home) =>
      namesOf(await home.query('select url as name from snapshot where attempts > $1', [MAX_ATTEMPTS])),
  },
  {
    name: 'I25: hooks never saw how to reach the database',
    how: 'the names in the environments that hooks wrote down',
    look: (home) => (existsSync(join(home.dataDir, 'secrets.log')) ? linesOf(join(home.dataDir, 'secrets.log')) : []),
  },
  {
    name: 'I26: no transaction is left open',
    how: 'pg_stat_activity',
    look: async (home) =>
      namesOf(
        await home.query(`
          select application_name as name from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid() 
            and application_name like 'archivebox-ts %' and xact_start is not null`),
      ),
  },
]

/** Checks every invariant at rest. @returns each with what breaks it */
export async function verdict(home: TestHome, ledger: Ledger): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const { name, how, look } of CHECKS) findings.push({ name, how, broken: await look(home, ledger) })
  return findings
}

/** One finding per line, as the soak prints them. */
export function printed(findings: readonly Finding[]): string {
  return findings
    .map(({ name, how, broken }) =>
      [`${broken.length === 0 ? 'ok    ' : 'BROKEN'} ${name} (${how})`, ...broken].join('\n         '),
    )
    .join('\n')
}

/** The notes that hooks wrote about themselves, in order. */
function oracle(home: TestHome): string[] {
  const file = join(home.dataDir, 'oracle.log')
  return existsSync(file) ? linesOf(file) : []
}

const linesOf = (file: string) => readFileSync(file, 'utf8').split('\n').filter(Boolean)
const namesOf = (rows: readonly Record<string, unknown>[]) => rows.map(({ name }) => String(name))

async function missingFiles(home: TestHome): Promise<string[]> {
  const wrong = await wrongOutputs(home)
  for (const { output_dir } of await home.query<{ output_dir: string }>(
    "select output_dir from snapshot where status = 'sealed'",
  )) {
    const dir = join(home.dataDir, output_dir)
    for (const name of ['index.html', 'index.jsonl'])
      if (!existsSync(join(dir, name))) wrong.push(`${dir}/${name} is missing`)
    for (const name of existsSync(dir) ? readdirSync(dir) : [])
      if (/^\.(work|publish|replaced)|\.tmp$/.test(name)) wrong.push(`${dir}/${name} is left over`)
    wrong.push(...wrongHashes(dir))
  }
  return wrong
}

function wrongHashes(dir: string): string[] {
  const list = join(dir, 'hashes', 'hashes.json')
  if (!existsSync(list)) return []
  const { files } = JSON.parse(readFileSync(list, 'utf8')) as { files: { path: string; sha256: string }[] }
  return files.flatMap(({ path, sha256 }) => {
    const file = join(dir, path)
    if (!existsSync(file)) return [`${file} is missing`]
    return createHash('sha256').update(readFileSync(file)).digest('hex') === sha256
      ? []
      : [`${file} is not what hashes.json says`]
  })
}

/** Entries that are neither files nor folders, nor links that stay within the folder of their plugin. */
function strangeEntries(root: string): string[] {
  if (!existsSync(root)) return []
  return readdirSync(root, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === '.work' || entry.name === '.attempts') return []
    const path = join(root, entry.name)
    if (entry.isDirectory()) return strangeEntries(path)
    return entry.isFile() || (entry.isSymbolicLink() && staysInside(path)) ? [] : [path]
  })
}

function staysInside(link: string): boolean {
  // archive/snapshots/<day>/<domain>/<page>/<plugin>/...
  const plugin = /^.*?\/archive\/[^/]+(\/[^/]+){4}(?=\/)/.exec(link)?.[0]
  return plugin !== undefined && existsSync(link) && `${realpathSync(link)}/`.startsWith(`${realpathSync(plugin)}/`)
}
