import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
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
