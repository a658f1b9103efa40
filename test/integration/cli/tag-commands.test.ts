import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { queuedPages, runAll } from '../../support/queued.ts'
import { records, refusal } from '../../support/records.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site
let home: TestHome
let pages: string[]

beforeAll(async () => {
  site = await startSite(3)
  home = await homes.original()
  const urls = [1, 2, 3].map((number) => `${site.url}/page-${number}.html`)
  pages = (await queuedPages(home, urls, '--tag', 'news,nwes')).pages
  await home.query(`update crawl set config = '{"plugins": ["headers"]}'`)
  await runAll(home)
})
afterAll(() => site.close())

/** The tags that the page's record on disk has. */
async function onDisk(id: string): Promise<unknown> {
  const dir = await home.value<string>('select output_dir from snapshot where id = $1', [id])
  const [line] = readFileSync(join(home.dataDir, dir, 'index.jsonl'), 'utf8').split('\n')
  return (JSON.parse(line!) as { tags: unknown }).tags
}
/** Is this tag in the index of the archive? */
const inIndex = (tag: string) => readFileSync(join(home.dataDir, 'archive', 'index', '0.js'), 'utf8').includes(tag)
const counts = async () => (await records(home, ['tag', 'list'])).map(({ name, pages }) => [name, pages])

describe('a result', () => {
  it('is not paused, resumed or cancelled without its page, which is named', async () => {
    const [result] = await records(home, ['result', 'list', '-n', '1'])
    for (const verb of ['pause', 'cancel']) {
      const { code, stdout, stderr } = await home.run(['result', verb, result!.id])
      expect({ code, stdout, stderr }).toEqual({
        code: 2,
        stdout: '',
        stderr:
          `error: cannot ${verb} single results: they are worked on with their page\n` +
          `hint:  archivebox-ts snapshot ${verb} ${String(result!['snapshot_id'])}\n`,
      })
    }
  })
})

describe('tags', () => {
  it('are added to pages and taken away, in the rows, on the pages and in the index', async () => {
    expect(await onDisk(pages[0]!)).toEqual(['news', 'nwes'])
    const [changed] = await records(home, [
      'snapshot',
      'tag',
      pages[0]!.slice(-8),
      '--add',
      'später,b',
      '--remove',
      'news',
    ])
    expect(changed).toMatchObject({ id: pages[0], tags: ['b', 'nwes', 'später'] })
    expect(await onDisk(pages[0]!)).toEqual(['b', 'nwes', 'später'])
    expect(await onDisk(pages[1]!)).toEqual(['news', 'nwes'])
    expect(inIndex('später')).toBe(true)
    expect(await counts()).toEqual([
      ['b', 1],
      ['news', 2],
      ['nwes', 3],
      ['später', 1],
    ])
  })

  it('are renamed, merged and deleted, wherever they are', async () => {
    await records(home, ['schedule', 'add', '--every', 'day', '--tag', 'x,nwes,b', site.url])
    const tagsOf = async (verb: readonly string[]) => (await records(home, verb)).map(({ tags }) => tags)
    await refusal(home, ['tag', 'rename', 'nwes', 'news'], 2, /there is a tag "news" already/)
    expect(await records(home, ['tag', 'rename', 'b', 'new'])).toMatchObject([{ type: 'Tag', name: 'new', pages: 1 }])
    expect(await onDisk(pages[0]!)).toEqual(['new', 'nwes', 'später'])
    expect(inIndex('new')).toBe(true)
    expect(await records(home, ['tag', 'merge', 'nwes', 'new', 'news'])).toMatchObject([{ name: 'news', pages: 3 }])
    expect(await Promise.all(pages.map(onDisk))).toEqual([['news', 'später'], ['news'], ['news']])
    expect(await tagsOf(['schedule', 'list'])).toEqual([['x', 'news']])
    await refusal(home, ['tag', 'delete', 'news'], 1, /nothing was changed: this would remove news from 3 pages/)
    await records(home, ['tag', 'delete', 'news', '--yes'])
    expect(await Promise.all(pages.map(onDisk))).toEqual([['später'], [], []])
    expect(inIndex('news')).toBe(false)
    expect([await tagsOf(['schedule', 'list']), await tagsOf(['snapshot', 'list', '--tag', 'news'])]).toEqual([
      [['x']],
      [],
    ])
    expect(await counts()).toEqual([['später', 1]])
  })

  it('of a crawl follow, so that its next pages have the new name', async () => {
    const crawl = await home.add('--tag', 'one,two', `${site.url}/page-1.html`)
    await records(home, ['snapshot', 'create', '--crawl-id', crawl, '--tag', 'one', `${site.url}/page-2.html`])
    await records(home, ['tag', 'rename', 'one', 'first'])
    expect((await records(home, ['crawl', 'show', crawl, '--json']))[0]).toMatchObject({ tags: ['first', 'two'] })
  })

  it('of a list that has no pages yet follow', async () => {
    const list = [
      { url: `${site.url}/page-1.html`, tags: ['old', 'kept'] },
      { url: `${site.url}/page-2.html` },
      { url: `${site.url}/page-3.html`, tags: ['going', 'old'], title: '"old"' },
    ]
    const input = list.map((entry) => JSON.stringify(entry)).join('\n')
    const added = await home.run(['add', '--again', '--json', '-'], { input })
    const { id } = JSON.parse(added.stdout) as { id: string }
    await home.query(`insert into tag (name) values ('old'), ('going'), ('into')`)
    await records(home, ['tag', 'rename', 'old', 'renamed'])
    await records(home, ['tag', 'merge', 'renamed', 'into'])
    await records(home, ['tag', 'delete', 'going', '--yes'])
    const details = await home.value<string>('select details from crawl_detail where crawl_id = $1', [id])
    expect(details.split('\n').map((line) => (line ? JSON.parse(line) : line))).toEqual([
      { tags: ['into', 'kept'] },
      '',
      { title: '"old"', tags: ['into'] },
    ])
  })

  it('that are none are refused', async () => {
    await refusal(home, ['tag', 'rename', 'spater', 'x'], 2, /there is no tag "spater"/)
    await refusal(home, ['tag', 'rename', 'später', 'a,b'], 2, /"a,b" cannot be a tag/)
    await refusal(home, ['snapshot', 'tag', pages[0]!, '--add', 'a', '--remove', 'a'], 2, /added and removed at once/)
  })
})
