import { existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dataDirId } from '../../../src/base/data-dir-id.ts'
import { hasCopies, pageChanges } from '../../../src/db/archived-pages.ts'
import { crawlFacts } from '../../../src/db/crawl-summaries.ts'
import { openDatabase } from '../../../src/db/database.ts'
import type { Home } from '../../../src/db/home.ts'
import { snapshotById, tagSnapshots } from '../../../src/db/snapshots.ts'
import { parseChunk } from '../../../src/pages/index-chunk.ts'
import { currentMachine } from '../../../src/processes/machine.ts'
import { updateArchiveIndex } from '../../../src/workers/index/archive-index.ts'
import { writeArchivePage } from '../../../src/workers/index/index-pages.ts'
import { pagesOf } from '../../support/archive.ts'
import { Browser, noBrowser } from '../../support/browser.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { holdingPlugin } from '../../support/plugins.ts'
import { eventually } from '../../support/program.ts'
import { rowsRead } from '../../support/rows-read.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(3)
})
afterAll(() => site.close())

const PLUGINS = ['--plugins', 'headers,html,title,readability,favicon']
const indexOf = (test: TestHome) => join(test.dataDir, 'archive', 'index')

/** Fields of the lines of all chunks, by URL. */
function listed(test: TestHome): Map<string, string[]> {
  const chunks = existsSync(indexOf(test)) ? readdirSync(indexOf(test)).filter((name) => name.endsWith('.js')) : []
  const lines = chunks.flatMap((name) => [...parseChunk(readFileSync(join(indexOf(test), name), 'utf8')).values()])
  return new Map(lines.map((line) => line.split('\t')).map((fields) => [fields[11]!, fields]))
}

async function archived(test: TestHome, ...urls: string[]): Promise<string> {
  const crawl = await test.add(...PLUGINS, '--tag', 'sea', ...urls)
  const { code, stderr } = await test.run(['run', '--exit-on-idle', '--daemon'])
  expect(code, stderr).toBe(0)
  return crawl
}

/** What a process of ours has of a data dir, with one connection. */
async function withHome(test: TestHome, work: (home: Home) => Promise<void>): Promise<void> {
  const db = openDatabase(test.databaseUrl, { name: 'the test', connections: 1 })
  try {
    await work({
      db,
      databaseUrl: test.databaseUrl,
      embedded: true,
      machineId: (await currentMachine(db)).id,
      dataDir: test.dataDir,
      dataDirId: await dataDirId(test.dataDir, () => {}),
    })
  } finally {
    await db.destroy()
  }
}

/** Sealed pages of a crawl of their own, without files. */
async function makePages(test: TestHome, count: number): Promise<string> {
  const crawl = await test.add('http://127.0.0.1:9/')
  await test.query(`update crawl set status = 'sealed', retry_at = null where id = $1`, [crawl])
  await test.query(
    `insert into snapshot (id, crawl_id, url, url_hash, output_dir, status, outcome, retry_at)
     select gen_random_uuid(), $1::uuid, 'http://127.0.0.1:9/' || n, sha256(convert_to(n::text, 'UTF8')),
       'archive/snapshots/' || n, 'sealed', 'archived', null from generate_series(1, $2::int) n`,
    [crawl, count],
  )
  return crawl
}

describe('the index of the archive', () => {
  it('lists what was archived, how it went, and where it is; and nothing that was deleted', async () => {
    const test = await homes.make()
    const crawl = await archived(test, `${site.url}/page-1.html`, `${site.url}/nowhere`, 'http://127.0.0.1:9/')
    const index = listed(test)
    expect([...index.keys()].sort()).toEqual(
      ['http://127.0.0.1:9/', `${site.url}/nowhere`, `${site.url}/page-1.html`].sort(),
    )
    const pages = await pagesOf(test, crawl)
    for (const page of pages) expect(index.get(page.url)).toMatchObject({ 3: crawl, 4: 'sea', 7: page.output_dir })
    expect(index.get(`${site.url}/page-1.html`)).toMatchObject({
      2: 'a',
      5: '200',
      8: 'favicon/favicon.ico',
      12: 'Page 1',
    })
    expect(index.get(`${site.url}/page-1.html`)![13]).toContain('signal station')
    expect(index.get(`${site.url}/nowhere`)).toMatchObject({ 2: 'f', 5: '404', 6: 'HTTP 404' })
    expect(index.get('http://127.0.0.1:9/')).toMatchObject({ 2: 'f', 5: '', 6: 'connection refused' })
    expect(readFileSync(join(test.dataDir, 'index.html'), 'utf8')).toContain('"chunks":[0]')

    const gone = pages.find(({ url }) => url.endsWith('/nowhere'))!
    expect((await test.run(['snapshot', 'delete', '--yes', gone.id])).code).toBe(0)
    expect([...listed(test).keys()]).not.toContain(gone.url)
    expect((await test.run(['crawl', 'delete', '--yes', crawl])).code).toBe(0)
    expect(readdirSync(indexOf(test))).toEqual(['state.json'])
    expect(readFileSync(join(test.dataDir, 'index.html'), 'utf8')).toContain('"chunks":[]')
  })

  it('names the other copies of a URL on each of them, and drops what is deleted', async () => {
    const test = await homes.make()
    const url = `${site.url}/page-2.html`
    const [first] = await pagesOf(test, await archived(test, url))
    const read = (dir: string) => readFileSync(join(test.dataDir, dir, 'index.html'), 'utf8')
    expect(read(first!.output_dir)).not.toContain('archive/urls')
    const again = await archived(test, url)
    const [second] = await pagesOf(test, again)
    const files = [first!, second!].map(({ output_dir }) => /archive\/urls\/[^"]+/.exec(read(output_dir))?.[0])
    expect(files[0]).toBeDefined()
    expect(files[1]).toBe(files[0])
    await withHome(test, async ({ db }) => {
      const isCopied = async (id: string) => await hasCopies(db, (await snapshotById(db, id))!)
      const [single] = await pagesOf(test, await archived(test, `${site.url}/page-1.html`))
      expect([await isCopied(first!.id), await isCopied(second!.id), await isCopied(single!.id)]).toEqual([
        true,
        true,
        false,
      ])
    })
    const copies = () => readFileSync(join(test.dataDir, files[0]!), 'utf8')
    // What the list names already has its link, and is not looked at again: an archive has hundreds of large copies.
    writeFileSync(join(test.dataDir, first!.output_dir, 'index.html'), 'not looked at')
    const [third] = await pagesOf(test, await archived(test, url))
    expect(copies()).toContain(third!.output_dir)
    expect(read(third!.output_dir)).toContain(files[0])
    expect(read(first!.output_dir)).toBe('not looked at')
    for (const { output_dir } of [first!, second!]) expect(copies()).toContain(output_dir)
    expect((await test.run(['crawl', 'delete', '--yes', again])).code).toBe(0)
    expect(copies()).toContain(first!.output_dir)
    expect(copies()).not.toContain(second!.output_dir)
  })

  it('writes the lists of copies later when it was killed before it came to them', async () => {
    const test = await homes.make()
    const url = `${site.url}/page-2.html`
    const crawl = await test.add(...PLUGINS, url)
    expect((await test.run(['run', '--exit-on-idle', '--daemon'])).code).toBe(0)
    const [first] = await pagesOf(test, crawl)
    const other = await makePages(test, 1)
    await withHome(test, async (home) => {
      await sql`
        insert into snapshot (id, crawl_id, url, url_hash, output_dir, status, outcome, retry_at)
        select gen_random_uuid(), ${other}, url, url_hash, 'archive/elsewhere', 'sealed', 'archived', null
        from snapshot where id = ${first!.id}`.execute(home.db)
      const killed = new Error('killed')
      await expect(updateArchiveIndex(home, () => Promise.reject(killed))).rejects.toBe(killed)
      const rewritten: string[] = []
      const rewrite = async (id: string) => void rewritten.push(id)
      for (let update = 0; update < 2; update += 1) await updateArchiveIndex(home, rewrite)
      expect(rewritten).toEqual([first!.id])
      const [folder] = readdirSync(join(test.dataDir, 'archive', 'urls'))
      const [list] = readdirSync(join(test.dataDir, 'archive', 'urls', folder!))
      expect(readFileSync(join(test.dataDir, 'archive', 'urls', folder!, list!), 'utf8')).toContain(first!.output_dir)
    })
  })

  it('writes a stylesheet again that a power cut has left empty', async () => {
    const test = await homes.make()
    await withHome(test, async (home) => {
      await writeArchivePage(home)
      const folder = join(test.dataDir, 'archive', 'pages')
      const texts = () => readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))
      const before = texts()
      for (const name of readdirSync(folder)) truncateSync(join(folder, name))
      await writeArchivePage(home)
      expect(texts()).toEqual(before)
      expect(before.length).toBeGreaterThan(0)
    })
  })

  it('shows the tags that its pages have now', async () => {
    const test = await homes.make()
    await archived(test, `${site.url}/page-1.html`)
    await withHome(test, async (home) => {
      const tags = async () => {
        await writeArchivePage(home)
        return [...listed(test).values()].map((fields) => fields[4])
      }
      expect(await tags()).toEqual(['sea'])
      await tagSnapshots(home.db, [(await test.query<{ id: string }>('select id from snapshot'))[0]!.id], ['air'])
      expect(await tags()).toEqual(['air\u001fsea'])
      await test.query(`update tag set name = 'wind' where name = 'air'`)
      expect(await tags()).toEqual(['sea\u001fwind'])
      await test.query(`delete from tag where name = 'sea'`)
      expect(await tags()).toEqual(['wind'])
    })
  })

  it('is written anew where it was lost or damaged', async () => {
    const test = await homes.make()
    await archived(test, `${site.url}/page-1.html`)
    const chunk = join(indexOf(test), '0.js')
    const whole = readFileSync(chunk, 'utf8')
    await withHome(test, async (home) => {
      rmSync(indexOf(test), { recursive: true })
      await writeArchivePage(home)
      expect(readFileSync(chunk, 'utf8')).toBe(whole)
      for (const damage of [() => truncateSync(chunk, 20), () => rmSync(chunk)]) {
        damage()
        await test.query(`update snapshot set title = title || '!'`)
        await expect(writeArchivePage(home)).rejects.toThrow()
        await writeArchivePage(home)
        expect(listed(test).size).toBe(1)
      }
      writeFileSync(join(indexOf(test), 'state.json'), '{')
      await writeArchivePage(home)
      expect(listed(test).size).toBe(1)
    })
  })

  it('writes the chunk of what has changed again, and no other', async () => {
    const test = await homes.make()
    const crawl = await makePages(test, 2_500)
    await withHome(test, async (home) => {
      while (!(await writeArchivePage(home)));
      const { chunks } = await crawlFacts(home.db, crawl)
      expect(chunks).toEqual([0, 1, 2])
      expect(listed(test).size).toBe(2_500)
      const inodes = () => chunks.map((chunk) => statSync(join(indexOf(test), `${chunk}.js`)).ino)
      const before = inodes()
      await test.query(
        `update snapshot set title = 'new' where id = (select snapshot_id from archived_page where number = 1500)`,
      )
      await writeArchivePage(home)
      expect(inodes().map((inode, at) => inode !== before[at])).toEqual([false, true, false])
      // Whoever has read all of them reads none again.
      const [last] = await test.query<{ changed: string; number: number }>(
        'select changed::text, number::int from archived_page order by changed desc, number desc limit 1',
      )
      const read = await rowsRead(home.db, ['snapshot', 'archived_page'], () => pageChanges(home.db, last!, 100))
      expect(read).toEqual({ snapshot: 0, archived_page: 0 })
    })
  })

  it('misses no page whose transaction was the older one and ended last', async () => {
    const test = await homes.make()
    const slow = openDatabase(test.databaseUrl, { name: 'slow', connections: 1 })
    const crawl = await makePages(test, 1)
    const seal = (n: number) => sql`
      insert into snapshot (id, crawl_id, url, url_hash, output_dir, status, outcome, retry_at)
      values (gen_random_uuid(), ${crawl}, ${`http://x/${n}`}, sha256(${String(n)}::bytea), 'archive/x', 'sealed',
        'archived', null)`
    await withHome(test, async (home) => {
      const begun = Promise.withResolvers<void>()
      const end = Promise.withResolvers<void>()
      const older = slow.transaction().execute(async (tx) => {
        await seal(101).execute(tx)
        begun.resolve()
        await end.promise
      })
      await begun.promise
      await seal(102).execute(home.db)
      await writeArchivePage(home)
      expect([...listed(test).keys()]).toContain('http://x/102')
      expect([...listed(test).keys()]).not.toContain('http://x/101')
      end.resolve()
      await older
      await writeArchivePage(home)
      expect([...listed(test).keys()]).toContain('http://x/101')
    })
    await slow.destroy()
  })
})

describe.skipIf(noBrowser)(`the pages in a browser ${noBrowser}`, () => {
  let browser: Browser
  /** Answers that came from elsewhere than the disk, and scripts that broke. */
  const troubles: string[] = []

  beforeAll(async () => {
    browser = await Browser.start()
    browser.listen((method, params) => {
      const { url } = (params['response'] ?? {}) as { url?: string }
      if (method === 'Network.responseReceived' && !/^(file|data|about):/.test(url ?? '')) troubles.push(`asked ${url}`)
      if (method === 'Runtime.exceptionThrown') troubles.push(JSON.stringify(params))
    })
  })
  afterAll(() => browser.close())

  const texts = (selector: string) =>
    browser.evaluate<string[]>(`[...document.querySelectorAll('${selector}')].map((one) => one.textContent.trim())`)
  const type = (field: string, value: string) =>
    browser.evaluate(`{
      const field = document.querySelector('#controls').elements['${field}']
      field.value = ${JSON.stringify(value)}
      document.querySelector('#controls').dispatchEvent(new Event('input'))
    }`)

  it('open from disk, search, filter, show the copy, and ask nobody for anything', async () => {
    const test = await homes.make()
    const crawl = await archived(test, `${site.url}/page-1.html`, `${site.url}/page-3.html`, `${site.url}/nowhere`)
    const asked = site.hits('/picture.png')
    await browser.open(join(test.dataDir, 'index.html'))
    await browser.until("document.querySelector('#found').textContent === '3 pages'")
    await type('q', 'PAGE-3')
    await browser.until("document.querySelectorAll('#list li').length === 1")
    expect(await texts('#list .title')).toEqual(['Page 3'])
    await type('q', 'cliffs sea')
    await browser.until("document.querySelectorAll('#list li').length === 2")
    await type('q', '')
    await type('outcome', 'failed')
    await browser.until("document.querySelectorAll('#list li').length === 1")
    expect(await texts('#list .why')).toEqual(['HTTP 404'])
    const target = await browser.evaluate<string>(
      "decodeURIComponent(new URL(document.querySelector('#list a').href).pathname)",
    )
    expect(existsSync(target)).toBe(true)

    // Rows have small pictures alone; of a long list paper shows a part, and says so.
    await browser.evaluate("document.querySelector('.outcomes input').click()")
    const pictures = ['screenshot/thumbnail.webp', 'screenshot/screenshot.png']
    const line = (number: number) => `${number}\t0\ta\t\t\t200\t\tx\t\t${pictures[number % 2]}\t1\thttp://x/\t\t`
    const lines = Array.from({ length: 600 }, (_, at) => line(1_000 + at))
    await browser.evaluate(`pages(1, ${JSON.stringify(lines.join('\n'))})`)
    await browser.until("document.querySelector('#found').textContent.startsWith('603 ')")
    // At once: what is not there becomes an icon.
    const drawn = await browser.evaluate<string>(
      "dispatchEvent(new Event('beforeprint')), document.querySelector('#list').innerHTML",
    )
    expect(pictures.map((picture) => drawn.includes(picture))).toEqual([true, false])
    expect(await texts('#list li')).toHaveLength(500)
    expect(await texts('#found')).toEqual([expect.stringContaining(' · the first 500 are printed')])
    await browser.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(await texts('#found')).toEqual([expect.not.stringContaining('printed')])

    await browser.open(join(test.dataDir, await dirOf(test, crawl), 'index.html'))
    await browser.until("document.querySelectorAll('#list li').length === 3")
    expect(await texts('#causes button')).toEqual(['1HTTP 404'])
    // On paper, rows that are out of sight are there, too.
    await browser.evaluate(`{
      document.querySelector('#list').style.marginTop = '9000px'
      dispatchEvent(new Event('resize'))
    }`)
    await browser.until("document.querySelectorAll('#list li').length === 0")
    // At once: what is seen is drawn again whenever the window says that it has changed.
    expect(
      await browser.evaluate(
        "dispatchEvent(new Event('beforeprint')), document.querySelectorAll('#list .title').length",
      ),
    ).toBe(3)

    const page = (await pagesOf(test, crawl)).find(({ url }) => url.endsWith('page-1.html'))!
    await browser.open(join(test.dataDir, page.output_dir, 'index.html'))
    expect(await texts('.strip [aria-current] b')).toEqual(['html'])
    await browser.evaluate("dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }))")
    expect(await texts('.strip [aria-current] b')).toEqual(['readability'])
    expect(await browser.evaluate("document.querySelector('#copy iframe').getAttribute('src')")).toBe(
      'readability/content.html',
    )
    await browser.until("document.readyState === 'complete'")
    await browser.evaluate("document.querySelector('#copy').replaceChildren(new Image())")
    await browser.evaluate("document.querySelector('#copy img').src = 'gone.png'")
    await browser.until("document.querySelector('#copy').textContent === 'gone.png is not here any more.'")
    expect(troubles).toEqual([])
    expect(site.hits('/picture.png')).toBe(asked)
  })

  it('show a crawl that is at work as it goes on', async () => {
    const test = await homes.make()
    const { letGo } = holdingPlugin(test, 'holds')
    const urls = [1, 2, 3].map((n) => `${site.url}/page-${n}.html`)
    const crawl = await test.add('--plugins', 'holds,html', ...urls)
    const runner = test.start(['run', '--concurrency', '1', '--exit-on-idle'])
    const file = join(test.dataDir, await dirOf(test, crawl), 'index.html')
    await eventually(() => existsSync(file))
    await browser.open(file)
    await browser.until("document.querySelector('.status').textContent.trim() === 'Running'")
    letGo()
    // The page comes again by itself.
    await browser.until(
      "document.querySelector('.status.sealed') && document.querySelectorAll('#list li').length === 3",
    )
    expect(await texts('.progress')).toEqual(['3 of 3 pages done'])
    await runner.finished()
  })
})

async function dirOf(test: TestHome, crawl: string): Promise<string> {
  return String(await test.value('select output_dir from crawl where id = $1', [crawl]))
}
