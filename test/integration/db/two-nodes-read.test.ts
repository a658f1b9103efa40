import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseChunk } from '../../../src/pages/index-chunk.ts'
import { headOf, restOf } from '../../../src/pages/index-line.ts'
import { listLinks } from '../../../src/pages/links.ts'
import { pageCard, pageRow } from '../../../src/pages/page-row.ts'
import { written } from '../../../src/pages/written.ts'
import { type Page, pagesOf } from '../../support/archive.ts'
import type { TestHome } from '../../support/homes.ts'
import { useSharedServer } from '../../support/shared-database.ts'
import { type Site, startSite } from '../../support/site.ts'

// Two data dirs on one database, each with a page of its own: what commands on one say of the other's files.

const server = useSharedServer()
let site: Site

beforeAll(async () => {
  site = await startSite(3)
})
afterAll(() => site.close())

interface Node {
  readonly home: TestHome
  readonly id: string
  readonly name: string
  readonly crawl: string
  readonly page: Page
}

/** Two nodes that have archived a page each, and stand still since then. */
async function twoNodes(...plugins: string[]): Promise<[Node, Node]> {
  const url = await server.emptyDatabase()
  const made = async (number: number): Promise<Node> => {
    const home = server.newHome(url)
    expect((await home.run(['init'])).code).toBe(0)
    const with_ = ['--plugins', ['html', 'title', ...plugins].join()]
    const added = await home.run(['add', '--run', ...with_, `${site.url}/page-${number}.html`])
    expect(added.code, added.stderr).toBe(0)
    const crawl = await home.value<string>('select id from crawl order by id desc limit 1')
    const [node] = await home.query<{ id: string; name: string }>('select id, name from node where data_dir = $1', [
      home.dataDir,
    ])
    return { home, ...node!, crawl, page: (await pagesOf(home, crawl))[0]! }
  }
  return [await made(1), await made(2)]
}

const folderOf = ({ home, page }: Node) => join(home.dataDir, page.output_dir)
const lose = ({ home, id }: Node) => home.query("update node set state = 'lost' where id = $1", [id])
const linesOf = (stdout: string) =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>)

describe('verify', () => {
  it('reads what is here, and says what is elsewhere, and calls none of that missing', async () => {
    const [one, two] = await twoNodes()
    const ran = await one.home.run(['verify'])
    expect(ran.code, ran.stderr).toBe(0)
    expect(ran.stderr).toMatch(/1 page, 2 files.* no problems\n/)
    expect(ran.stderr).toContain(`not read: 1 page on node ${two.name} (${two.home.dataDir}); verify there`)
    expect(linesOf(ran.stdout)).toEqual([
      { type: 'Unread', node_id: two.id, node: two.name, data_dir: two.home.dataDir, state: 'active', pages: 1 },
    ])
    await lose(two)
    expect((await one.home.run(['verify'])).stderr).toMatch(/not read: 1 page on node .*; that node is lost/)
    rmSync(join(folderOf(one), 'html'), { recursive: true })
    expect((await one.home.run(['verify'])).code).toBe(1)
    const mended = await two.home.run(['verify', '--mend'])
    expect(mended.code, mended.stderr).toBe(0)
    expect(await one.home.value("select count(*) from archive_result where status = 'queued'")).toBe('0')
  })

  it('names an older folder of a page that another node has, and --mend removes it once it is archived there', async () => {
    const [one, two] = await twoNodes()
    const older = join(one.home.dataDir, two.page.output_dir)
    mkdirSync(join(older, 'html'), { recursive: true })
    writeFileSync(join(older, 'html/output.html'), 'older')
    await lose(two)
    const left = await one.home.run(['verify', '--mend'])
    expect(left.code).toBe(1)
    expect(linesOf(left.stdout)[0]).toMatchObject({ problem: 'left behind', path: two.page.output_dir })
    expect(left.stderr).toMatch(/1 left behind: left unchanged/)
    expect(existsSync(older)).toBe(true)
    await one.home.query("update node set state = 'active'")
    await one.home.query("update snapshot set outcome = 'failed', cause = 'x' where id = $1", [two.page.id])
    expect((await one.home.run(['verify', '--mend'])).code).toBe(1)
    await one.home.query("update snapshot set outcome = 'partial' where id = $1", [two.page.id])
    expect((await one.home.run(['verify'])).code).toBe(1)
    expect(existsSync(older)).toBe(true)
    const mended = await one.home.run(['verify', '--mend'])
    expect(mended.code, mended.stderr).toBe(0)
    expect(existsSync(older)).toBe(false)
    expect(existsSync(join(folderOf(two), 'html/output.html'))).toBe(true)
    expect((await one.home.run(['verify'])).stderr).toMatch(/no problems/)
  })
})

describe('retry', () => {
  it('leaves pages of a lost node alone, says what to do, and does the others', async () => {
    const [one, two] = await twoNodes()
    await lose(two)
    await one.home.query("update archive_result set status = 'noresults' where plugin = 'title'")
    const ran = await one.home.run(['crawl', 'retry', one.crawl, two.crawl])
    expect(ran.code, ran.stderr).toBe(0)
    expect(ran.stderr).toContain(`1 page is on node ${two.name}, which is lost: node forget ${two.name}, then retry`)
    expect(ran.stderr).toMatch(/queued 1 hook of 1 page again/)
    expect(await one.home.value('select status from snapshot where id = $1', [two.page.id])).toBe('sealed')
    for (const [noun, id] of [
      ['snapshot', two.page.id],
      [
        'result',
        await one.home.value('select id from archive_result where snapshot_id = $1 and plugin = $2', [
          two.page.id,
          'title',
        ]),
      ],
    ] as const) {
      const refused = await one.home.run([noun, 'retry', String(id)])
      expect(refused.code).toBe(1)
      expect(refused.stderr).toMatch(/1 page is on node .*, which is lost/)
    }
    expect((await two.home.run(['snapshot', 'retry', two.page.id])).stderr).toMatch(/queued 1 hook of 1 page again/)
  })

  it('says where pages of another node run', async () => {
    const [one, two] = await twoNodes()
    await one.home.query("update archive_result set status = 'noresults' where plugin = 'title'")
    const ran = await one.home.run(['snapshot', 'retry', two.page.id])
    expect(ran.code).toBe(0)
    expect(ran.stderr).toContain(`runs on node ${two.name}: 1 page`)
  })
})

describe('what is shown', () => {
  it('names the node that has the files, and leads to none that are not here', async () => {
    const [one, two] = await twoNodes('wget')
    const there = { home_node: two.id }
    const shown = await one.home.run(['snapshot', 'show', two.page.id])
    expect(shown.code, shown.stderr).toBe(0)
    expect(JSON.parse(shown.stdout)).toMatchObject(there)
    const result = await one.home.value('select id from archive_result where node_id = $1 limit 1', [two.id])
    expect(JSON.parse((await one.home.run(['result', 'show', String(result)])).stdout)).toMatchObject({
      node_id: two.id,
    })
    expect(JSON.parse((await one.home.run(['crawl', 'show', two.crawl])).stdout)).toMatchObject(there)
    const tables = await one.home.run(['snapshot', 'list', '-o', 'wide'])
    expect(tables.stdout.match(/ on /g)).toHaveLength(1)
    expect(tables.stdout).toContain(`on ${two.name}`)
    const records = linesOf((await one.home.run(['export', '--format', 'jsonl'])).stdout)
    expect(records.map(({ home_node }) => home_node)).toEqual([two.id, one.id])

    const packed = await one.home.run(['export', '--format', 'wacz'])
    expect(packed.stderr).toContain(`not read: 1 page on node ${two.name}`)

    const ran = await one.home.run(['add', '--run', '--plugins', 'html', `${site.url}/page-3.html`])
    expect(ran.code, ran.stderr).toBe(0)
    const chunk = parseChunk(readFileSync(join(one.home.dataDir, 'archive/index/0.js'), 'utf8'))
    const [ours, theirs] = [...chunk.values()].map((line) => {
      const rest = restOf(line)
      const page = { ...headOf(line), ...rest, links: listLinks('.'), terms: [] }
      return { ...rest, row: written(pageRow(page)).text, card: written(pageCard(page)).text }
    })
    expect(ours).toMatchObject({ node: '', path: one.page.output_dir })
    expect(ours?.row).toContain(`href="${one.page.output_dir}/index.html"`)
    expect(theirs).toMatchObject({ node: two.name, path: two.page.output_dir, text: '', picture: '', icon: '' })
    for (const drawn of [theirs?.row, theirs?.card]) {
      expect(drawn).toContain(two.name)
      expect(drawn).not.toContain('href')
    }
    const index = readFileSync(join(one.home.dataDir, 'index.html'), 'utf8')
    const folders = await one.home.query<{ id: string; output_dir: string }>('select id, output_dir from crawl')
    for (const { id, output_dir: folder } of folders)
      expect(index.includes(`${folder}/index.html`), id).toBe(id !== two.crawl)
    expect(index).toContain(`on node <bdi>${two.name}</bdi>`)
  })
})

describe('a backup', () => {
  it('lists the files of its node, names the others, and comes back as a node of its own', async () => {
    const [one, two] = await twoNodes()
    const file = join(one.home.dataDir, 'rows.zst')
    const made = await one.home.run(['backup', file])
    expect(made.code, made.stderr).toBe(0)
    expect(made.stderr).toContain(`not in that list: the files of 1 page on node ${two.name}`)
    expect(JSON.parse(made.stdout)).toMatchObject({ absent: [{ id: two.id, name: two.name, pages: 1 }] })
    const listed = readFileSync(`${file}.files`, 'utf8').split('\n')
    expect(listed).toContain(one.page.output_dir)
    expect(listed).not.toContain(two.page.output_dir)

    const third = server.newHome(await server.emptyDatabase())
    const restored = await third.run(['restore', file])
    expect(restored.code, restored.stderr).toBe(0)
    expect(restored.stderr).toContain(`not here: the files of 1 page on node ${two.name}`)
    const id = readFileSync(join(third.dataDir, '.archivebox-id'), 'utf8').slice(0, 36)
    expect(await third.query('select id, home_node from snapshot order by id')).toEqual([
      { id: one.page.id, home_node: id },
      { id: two.page.id, home_node: two.id },
    ])
    const results = await third.query('select distinct snapshot_id, node_id from archive_result order by snapshot_id')
    expect(results.map(({ node_id }) => node_id)).toEqual([id, two.id])
    expect(await third.query('select home_node from crawl order by id')).toEqual([
      { home_node: id },
      { home_node: two.id },
    ])
    expect(await third.query('select name, state from node')).toEqual([{ name: two.name, state: 'lost' }])
    cpSync(folderOf(one), join(third.dataDir, one.page.output_dir), { recursive: true })
    const verified = await third.run(['verify'])
    expect(verified.code, verified.stderr).toBe(0)
    expect(verified.stderr).toMatch(/1 page, 2 files.* no problems[\s\S]*not read: 1 page on node .* lost/)
  })
})
