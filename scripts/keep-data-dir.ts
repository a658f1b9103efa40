// `node scripts/keep-data-dir.ts [COMMIT...]`: keeps the data dir that the program of a commit (default: HEAD) leaves
// as test/fixtures/data-dirs/NNNN, by its schema number: one page is archived, one queued. Run it with the last commit
// before a new migration. What differs from machine to machine stands in braces; the test fills it in.
import { type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import pg from 'pg'
import { enterServer, urlOf } from '../src/db/embedded/server.ts'

const root = join(import.meta.dirname, '..')
const fixtures = join(root, 'test', 'fixtures', 'data-dirs')
const PLUGINS = 'title,html,hashes'

/** What of a data dir belongs to its archive, beside the rows. What is written again is left out. */
const FILES = 'archive/snapshots/**/{title.txt,output.html,hashes.json}'

/** Runs a program with the Node that this checkout pins. */
async function run(checkout: string, program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const { PATH, HOME } = process.env
  const options: SpawnOptions = {
    cwd: checkout,
    env: { PATH: `${join(checkout, 'node_modules', '.bin')}:${PATH}`, HOME, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  }
  const [code] = (await once(spawn(program, args, options), 'exit')) as [number | null]
  if (code !== 0) throw new Error(`${program} ${args.join(' ')}: exit code ${code}`)
}

/** Makes a checkout of that commit, installed and built. Commits with one lock file share what is installed. */
async function build(commit: string, checkout: string, installed: Map<string, string>): Promise<void> {
  await run(root, 'git', ['worktree', 'add', '--quiet', '--detach', checkout, commit])
  const lock = readFileSync(join(checkout, 'package-lock.json'), 'utf8')
  let modules = installed.get(lock)
  if (!modules) {
    await run(checkout, 'npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'])
    modules = join(checkout, '..', `node_modules-${installed.size}`)
    renameSync(join(checkout, 'node_modules'), modules)
    installed.set(lock, modules)
  }
  symlinkSync(modules, join(checkout, 'node_modules'))
  await run(checkout, 'node', ['scripts/build.mjs'])
}

/** Has that program archive a page and queue another. @returns the host of both */
async function archive(checkout: string, dataDir: string): Promise<string> {
  const site = createServer((_, answer) => {
    answer.setHeader('content-type', 'text/html')
    answer.end('<title>A page</title><p>as an older program archived it</p>')
  })
  await once(site.listen(0, '127.0.0.1'), 'listening')
  const host = `127.0.0.1:${(site.address() as AddressInfo).port}`
  const add = async (...args: string[]) =>
    await run(checkout, 'node', ['dist/main.js', 'add', '--plugins', PLUGINS, ...args], { DATA_DIR: dataDir })
  try {
    await add('--run', '--tag', 'kept', '--label', 'archived', `http://${host}/`)
    await add('--label', 'queued', `http://${host}/next`)
    return host
  } finally {
    site.close()
  }
}

/** All rows as INSERTs, without what the server computes, and what would name the processes of the machine. */
async function rowsOf(db: pg.Client): Promise<string> {
  const { rows: tables } = await db.query<{ name: string; columns: string[] }>(`
    select c.relname as name, array_agg(quote_ident(a.attname) order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and c.relname <> 'schema_migration'
      and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and a.atttypid <> 'xid8'::regtype
      and a.attname not in ('started_under', 'cgroup')
    group by 1 order by 1`)
  let inserts = ''
  for (const { name, columns } of tables) {
    const values = columns.map((column) => `quote_nullable(${column}::text)`).join(', ')
    const table = pg.escapeIdentifier(name)
    const { rows } = await db.query<{ row: string }>(
      `select concat_ws(', ', ${values}) as row from ${table} order by 1`,
    )
    inserts += `delete from ${table};\n` // Migrations fill some.
    if (rows.length === 0) continue
    const lines = rows.map(({ row }) => `  (${row})`).join(',\n')
    inserts += `insert into ${table} (${columns.join(', ')}) overriding system value values\n${lines};\n`
  }
  return inserts
}

/** Keeps the data dir of one commit. @returns its folder among the fixtures */
async function keep(commit: string, folder: string, installed: Map<string, string>): Promise<string> {
  const checkout = join(folder, 'checkout')
  const dataDir = join(folder, 'data')
  try {
    await build(commit, checkout, installed)
    const site = await archive(checkout, dataDir)
    const server = await enterServer(dataDir)
    const db = new pg.Client({ connectionString: urlOf(server.address) })
    await db.connect()
    const applied = await db.query<{ version: number }>('select version from schema_migration order by 1')
    const machine = await db.query<{ guid: string }>('select guid from machine')
    const inserts = await rowsOf(db)
    await db.end()
    await server.leave()
    const words: Readonly<Record<string, string>> = {
      [dataDir]: '{data dir}',
      [checkout]: '/opt/archivebox-ts',
      [`'${machine.rows[0]!.guid}'`]: "'{machine}'",
      [`'${hostname()}'`]: "'{host}'",
      [site]: '{site}',
    }
    const text = Object.entries(words).reduce((all, [word, name]) => all.replaceAll(word, name), inserts)
    const versions = applied.rows.map(({ version }) => version)
    const to = join(fixtures, String(versions.at(-1)).padStart(4, '0'))
    rmSync(to, { recursive: true, force: true })
    for (const file of globSync(FILES, { cwd: dataDir })) cpSync(join(dataDir, file), join(to, 'files', file))
    const idFile = join(dataDir, '.archivebox-id')
    const id = existsSync(idFile) ? readFileSync(idFile, 'utf8').split(' ')[0] : 'none'
    writeFileSync(join(to, 'rows.sql'), `-- data dir: ${id}, migrations: ${versions.join(' ')}\n${text}`)
    return to
  } finally {
    await run(root, 'git', ['worktree', 'remove', '--force', checkout])
    rmSync(dataDir, { recursive: true, force: true })
  }
}

const folder = mkdtempSync(join(tmpdir(), 'archivebox-ts-data-dirs-'))
chmodSync(folder, 0o755) // As root, the database belongs to another user.
// Ours serves the commits with the same lock file.
const installed = new Map([[readFileSync(join(root, 'package-lock.json'), 'utf8'), join(root, 'node_modules')]])
try {
  for (const commit of process.argv.length > 2 ? process.argv.slice(2) : ['HEAD'])
    console.log(`${commit}: ${relative(root, await keep(commit, folder, installed))}`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
