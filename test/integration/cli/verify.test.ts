import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { findProblems, type Progress } from '../../../src/app/verify/find-problems.ts'
import { mend } from '../../../src/app/verify/mend.ts'
import { knownDataDirId } from '../../../src/base/data-dir-id.ts'
import { openDatabase } from '../../../src/db/database.ts'
import type { Home } from '../../../src/db/home.ts'
import { type Page, pagesOf } from '../../support/archive.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { runAll } from '../../support/queued.ts'
import { type Site, startSite } from '../../support/site.ts'

interface Problem {
  readonly problem: string
  readonly path: string
  readonly snapshot_id: string | null
}

const homes = useHomes()
let site: Site
let original: TestHome
let crawl: string
let home: TestHome
let first: Page
let second: Page

beforeAll(async () => {
  site = await startSite(3)
  original = await homes.original()
  crawl = await original.add(
    '--plugins',
    'headers,html,title,hashes',
    `${site.url}/page-1.html`,
    `${site.url}/page-2.html`,
  )
  await runAll(original)
})
afterAll(() => site.close())

beforeEach(async () => {
  home = await homes.clone(original)
  ;[first, second] = (await pagesOf(home, crawl)) as [Page, Page]
})
afterEach(() => homes.discard(home))

const inside = (page: Page, file: string) => join(home.dataDir, page.output_dir, file)

/** What `verify` finds, as `problem path`, and what it says. */
const verified = async (code: number, ...args: string[]) => {
  const ran = await home.run(['verify', ...args])
  expect(ran.code, ran.stderr).toBe(code)
  const problems = ran.stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Problem)
  return { found: problems.map(({ problem, path }) => `${problem} ${path}`).sort(), problems, said: ran.stderr }
}

/** The same bytes in number, others in content. */
const spoil = (file: string) => {
  const bytes = readFileSync(file)
  bytes[bytes.length >> 1]! ^= 1
  writeFileSync(file, bytes)
}

describe('verify', () => {
  it('finds a whole archive well, by content and quickly', async () => {
    // The word of a result's end may have waited for the database longer than that of the hashes.
    await home.query(`update archive_result r set end_ts = h.end_ts + interval '20 ms' from archive_result h
      where h.snapshot_id = r.snapshot_id and h.plugin = 'hashes' and r.plugin = 'title'`)
    const { found, said } = await verified(0)
    expect(found).toEqual([])
    expect(said).toMatch(/2 pages, 8 files, 6 of them by content .*: no problems/)
    expect((await verified(0, '--quick')).said).toMatch(/2 pages, 8 files checked/)
  })

  it('names each thing that is wrong, and changes none', async () => {
    spoil(inside(first, 'html/output.html'))
    truncateSync(inside(first, 'title/title.txt'), 1)
    rmSync(inside(first, 'headers/headers.json'))
    rmSync(inside(first, 'index.html'))
    writeFileSync(inside(second, 'title/notes.txt'), 'mine')
    rmSync(inside(second, 'html/output.html'))
    symlinkSync('/etc/passwd', inside(second, 'html/output.html'))
    const stray = 'archive/snapshots/20200101/example.com/01994f6e-0c1a-7c3e-9d55-0123456789ab'
    mkdirSync(join(home.dataDir, stray), { recursive: true })

    const quick = [
      `changed ${first.output_dir}/title/title.txt`,
      `missing ${first.output_dir}/headers/headers.json`,
      `no page ${first.output_dir}/index.html`,
      `unknown ${second.output_dir}/title/notes.txt`,
      `changed ${second.output_dir}/html/output.html`,
      `unknown ${stray}`,
    ]
    const { found, problems, said } = await verified(1)
    expect(found).toEqual([...quick, `changed ${first.output_dir}/html/output.html`].sort())
    expect(problems.find(({ problem }) => problem === 'no page')).toMatchObject({
      snapshot_id: first.id,
      url: first.url,
    })
    expect(said).toMatch(/7 problems[\s\S]*3 changed: left unchanged[\s\S]*1 missing: --mend queues/)
    expect((await verified(1, '--quick')).found).toEqual(quick.sort())
  })

  it('misses the WACZ that the page of a crawl offers', async () => {
    const folder = await home.value<string>('select output_dir from crawl')
    const page = join(home.dataDir, folder, 'index.html')
    writeFileSync(page, `${readFileSync(page, 'utf8')}<a href="wacz/crawl.wacz">`)
    const { found, said } = await verified(1, '--mend', '--quick')
    expect(found).toEqual([`no package ${folder}/wacz/crawl.wacz`])
    expect(said).toMatch(/1 no package: left unchanged: export --format wacz/)
    mkdirSync(join(home.dataDir, folder, 'wacz'))
    writeFileSync(join(home.dataDir, folder, 'wacz/crawl.wacz'), '')
    expect((await verified(0, '--quick')).found).toEqual([])
  })

  it('--mend gives back what a hook can make, and puts aside what nobody knows', async () => {
    rmSync(inside(first, 'html/output.html'))
    rmSync(inside(first, 'index.html'))
    writeFileSync(inside(second, 'title/notes.txt'), 'mine')
    expect((await verified(0, '--mend')).said).toMatch(/3 problems/)
    expect(readFileSync(join(home.dataDir, 'lost+found', second.output_dir, 'title', 'notes.txt'), 'utf8')).toBe('mine')
    expect(existsSync(inside(first, 'index.html'))).toBe(true)
    await runAll(home)
    expect((await verified(0)).found).toEqual([])
  })

  it('--mend takes no damaged file for what was archived', async () => {
    rmSync(inside(first, 'headers/headers.json')) // Its date will be another one.
    spoil(inside(first, 'html/output.html'))
    await verified(0, '--mend', '--quick')
    await runAll(home)
    expect((await verified(1)).found).toEqual([`changed ${first.output_dir}/html/output.html`])
  })

  it('--mend leaves what its hook has kept a part of', async () => {
    writeFileSync(inside(first, 'html/image.png'), 'kept')
    await home.query(
      `update archive_result set output_files = output_files || jsonb_build_object('image.png',
        output_files -> 'output.html' || '{"size": 4}') where plugin = 'html' and snapshot_id = $1`,
      [first.id],
    )
    rmSync(inside(first, 'html/output.html'))
    const { found, said } = await verified(1, '--mend', '--quick')
    expect(found).toEqual([`missing ${first.output_dir}/html/output.html`])
    expect(said).toMatch(/1 missing: left unchanged: another run/)
    expect(await home.query("select from archive_result where status = 'queued'")).toEqual([])
  })

  it('--mend moves no folder of a row, nor an archive that its database does not know, nor over another', async () => {
    const strays = Array.from({ length: 19 }, (_none, n) => `archive/snapshots/20200101/example.com/${n}`)
    for (const path of strays) mkdirSync(join(home.dataDir, path), { recursive: true })
    expect((await verified(1, '--mend', '--quick')).said).toMatch(/knows 2 pages, but not 19 folders: nothing was/)
    expect(strays.filter((path) => !existsSync(join(home.dataDir, path)))).toEqual([])

    for (const path of strays.slice(1)) rmSync(join(home.dataDir, path), { recursive: true })
    mkdirSync(join(home.dataDir, 'lost+found', strays[0]!, 'full'), { recursive: true })
    writeFileSync(join(home.dataDir, strays[0]!, 'page'), '')
    await verified(0, '--mend', '--quick')
    expect(existsSync(join(home.dataDir, 'lost+found', `${strays[0]}.2`, 'page'))).toBe(true)

    const db = openDatabase(home.databaseUrl, { name: 'the test' })
    try {
      const here = { db, dataDir: home.dataDir, dataDirId: knownDataDirId(home.dataDir) } as Home
      const known = { problem: 'unknown' as const, path: first.output_dir, detail: 'its row came late' }
      expect(await mend(here, { found: [known], pages: 2 })).toEqual(new Set())
      expect(existsSync(inside(first, 'index.html'))).toBe(true)

      rmSync(inside(first, 'html/output.html'))
      const found = await Array.fromAsync(findProblems(here, { quick: true }))
      expect(found.map(({ page }) => Object.keys(page!))).toEqual([
        ['id', 'crawl_id', 'url', 'output_dir', 'is_adopted'],
      ])
    } finally {
      await db.destroy()
    }
  })

  it('fetches the page of a folder that is gone, but not those of a disk that is gone', async () => {
    rmSync(join(home.dataDir, second.output_dir), { recursive: true })
    expect((await verified(1)).found).toEqual([`missing ${second.output_dir}`])
    const archive = join(home.dataDir, 'archive')
    renameSync(archive, `${archive}.away`)
    mkdirSync(archive)
    const gone = await verified(1, '--mend')
    expect(gone.found).toEqual([first, second].map((page) => `missing ${page.output_dir}`).sort())
    expect(gone.said).toMatch(/nothing was changed/)
    rmSync(archive, { recursive: true })
    renameSync(`${archive}.away`, archive)

    await verified(0, '--mend')
    await runAll(home)
    expect((await verified(0)).found).toEqual([])
  })

  it('ends its threads when the reader leaves, or the signal is given', async () => {
    for (const page of [first, second]) rmSync(inside(page, 'html/output.html'))
    const db = openDatabase(home.databaseUrl, { name: 'the test' })
    const ends: Promise<unknown>[] = []
    const started = (worker: Worker) => ends.push(once(worker, 'exit'))
    process.on('worker', started)
    try {
      const here = { db, dataDir: home.dataDir, dataDirId: knownDataDirId(home.dataDir) } as Home
      const told: Progress[] = []
      for await (const { path } of findProblems(here, {}, { tell: (each) => told.push(each) })) {
        expect(path).toBe(`${first.output_dir}/html/output.html`)
        break
      }
      expect(told).toMatchObject([{ event: 'progress', pages: 2, files: 8 }])
      const stop = new AbortController()
      const found = findProblems(here, {}, { signal: stop.signal })
      expect((await found.next()).done).toBe(false)
      stop.abort(new Error('enough'))
      await expect(Array.fromAsync(found)).rejects.toThrow()
      expect(ends.length).toBeGreaterThan(1)
      await Promise.all(ends)
    } finally {
      process.off('worker', started)
      await db.destroy()
    }
  })

  it('leaves pages that are at work alone', async () => {
    rmSync(inside(first, 'html/output.html'))
    await home.query(
      "update snapshot set status = 'queued', retry_at = now(), outcome = null, cause = null where id = $1",
      [first.id],
    )
    expect((await verified(0)).said).toMatch(/1 page, /)
  })
})
