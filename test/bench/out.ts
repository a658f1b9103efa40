import { spawn } from 'node:child_process'
import { hash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { addUpCounts } from '../../src/db/counts.ts'
import { openDatabase } from '../../src/db/database.ts'
import type { Home } from '../../src/db/home.ts'
import type { Figure } from './figures.ts'
import { emptyDataDir, removeDataDir, withHome } from './home.ts'
import { makeLargeArchive } from './large-archive.ts'
import { archivebox, cleanEnv, MAIN, startNode } from './program.ts'

/** Pages as lists for others: the whole of a hundred thousand, in each format. */
export async function exported(rounds: number): Promise<Figure[]> {
  const pages = 100_000
  return await withHome(async (home) => {
    await makeLargeArchive(home.db, pages)
    await sql`vacuum analyze`.execute(home.db)
    const figures: Figure[] = []
    for (const format of ['jsonl', 'csv', 'netscape', 'html', 'urls']) {
      const values: number[] = []
      for (let round = 0; round < rounds; round += 1) {
        const begun = performance.now()
        const file = openSync(join(home.dataDir, 'list'), 'w')
        const args = [MAIN, '--data-dir', home.dataDir, 'export', '--format', format]
        const [code] = (await once(startNode(args, { stdio: ['ignore', file, 'ignore'] }), 'exit')) as [number]
        closeSync(file)
        if (code !== 0) throw new Error(`export ended with ${code}`)
        values.push(pages / ((performance.now() - begun) / 1000))
      }
      const target = { atLeast: 50_000, of: 'value' } as const
      figures.push({ bench: 'export', what: `${pages} pages as ${format}`, unit: 'pages/s', values, target })
    }
    return figures
  })
}

/** A million pages with five million results, into a file and back. */
export async function backedUp(rounds: number): Promise<Figure[]> {
  const pages = 1_000_000
  return await withHome(async (home) => {
    const db = openDatabase(home.databaseUrl, { name: 'bench', statementMs: Number.POSITIVE_INFINITY })
    await makeLargeArchive(db, pages)
    await addUpCounts(db)
    await db.destroy()
    const file = join(home.dataDir, 'rows.zst')
    const [writing, reading]: [number[], number[]] = [[], []]
    for (let round = 0; round < rounds; round += 1) {
      writing.push((await archivebox(home.dataDir, 'backup', file)).ms / 1000)
      const other = emptyDataDir()
      reading.push((await archivebox(other, 'restore', file)).ms / 1000)
      await removeDataDir(other)
    }
    const megabytes = Math.round(statSync(file).size / 1e6)
    const at = (what: string, values: number[], atMost: number): Figure => ({
      bench: 'backup',
      what: `${what}, ${pages} pages, ${megabytes} MB`,
      unit: 's',
      values,
      target: { atMost, of: 'value' },
    })
    return [at('backup', writing, 60), at('restore', reading, 180)]
  })
}

/** What a page of the middling kind leaves: bytes of its files. */
const SIZES = [200, 1_000, 4_000, 15_000, 40_000, 120_000, 300_000, 1_000_000]
const PAGES = 1_500

/** Every file by its content, beside sha256sum on as many cores. */
export async function verified(rounds: number): Promise<Figure[]> {
  return await withHome(async (home) => {
    await makeArchiveWithFiles(home)
    const [values, rival]: [number[], number[]] = [[], []]
    const cores = availableParallelism()
    const sum = `find archive -type f -print0 | xargs -0 -P ${cores} -n 64 sha256sum > /dev/null`
    for (let round = 0; round < rounds; round += 1) {
      const begun = performance.now()
      const [code] = (await once(spawn('sh', ['-c', sum], { cwd: home.dataDir, env: cleanEnv }), 'exit')) as [number]
      if (code !== 0) throw new Error(`sha256sum ended with ${code}`)
      rival.push((performance.now() - begun) / 1000)
      values.push((await archivebox(home.dataDir, 'verify')).ms / 1000)
    }
    const megabytes = Math.round((PAGES * SIZES.reduce((total, size) => total + size)) / 1e6)
    const what = `verify ${PAGES} pages, ${PAGES * SIZES.length} files, ${megabytes} MB`
    // 0.8 of its speed.
    const target = { atMost: 1.25, of: 'ratio' } as const
    return [{ bench: 'verify', what, unit: 's', values, rival: { name: `sha256sum x${cores}`, values: rival }, target }]
  })
}

/** Rows by SQL, files of random bytes, and their hashes as the plugin writes them. */
async function makeArchiveWithFiles({ db, dataDir }: Home): Promise<void> {
  await sql`
    insert into crawl (id, urls, output_dir, status, retry_at)
    values (gen_random_uuid(), 'u', 'archive/c', 'sealed', null)
  `.execute(db)
  const { rows } = await sql<{ id: string; output_dir: string }>`
    insert into snapshot (id, crawl_id, url, url_hash, output_dir, status, retry_at, outcome)
    select id, (select id from crawl), 'https://example.com/' || n, sha256(n::text::bytea),
      'archive/snapshots/20260101/example.com/' || id, 'sealed', null, 'archived'
    from (select gen_random_uuid() as id, n from generate_series(1, ${PAGES}::int) n) page
    returning id, output_dir`.execute(db)
  for (const { output_dir } of rows) {
    const dir = join(dataDir, output_dir)
    mkdirSync(join(dir, 'html'), { recursive: true })
    mkdirSync(join(dir, 'hashes'))
    for (const name of ['index.html', 'index.jsonl']) writeFileSync(join(dir, name), name)
    const files = SIZES.map((size) => {
      const bytes = randomBytes(size)
      writeFileSync(join(dir, 'html', `${size}.bin`), bytes)
      return { path: `html/${size}.bin`, size, sha256: hash('sha256', bytes) }
    })
    writeFileSync(join(dir, 'hashes', 'hashes.json'), JSON.stringify({ files }))
  }
  const hashes = statSync(join(dataDir, rows[0]!.output_dir, 'hashes', 'hashes.json')).size
  const record = (files: readonly (readonly [string, number])[]) =>
    JSON.stringify(Object.fromEntries(files.map(([name, size]) => [name, { size, mimetype: '' }])))
  await sql`
    insert into archive_result (id, snapshot_id, plugin, hook_name, status, end_ts, output_files)
    select gen_random_uuid(), s.id, made.plugin, made.plugin, 'succeeded', now(), made.files::jsonb
    from snapshot s, (values ('html', ${record(SIZES.map((size) => [`${size}.bin`, size] as const))}),
      ('hashes', ${record([['hashes.json', hashes]])})) made (plugin, files)`.execute(db)
}
