import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkTag } from '../../../src/app/records/names.ts'
import { expectComplete, resultsOf } from '../../support/archive.ts'
import { useHomes } from '../../support/homes.ts'
import { contentOf, HOSTILE_NAMES, namesSite } from '../../support/hostile-names.ts'
import { hook } from '../../support/plugins.ts'
import { type Site, startSite } from '../../support/site.ts'

const PLUGINS = 'staticfile,html,headers,title,htmltotext,seo,parse_html_urls,parse_rss_urls,parse_txt_urls,hashes'

const homes = useHomes()
let site: Site
beforeAll(async () => {
  site = await startSite(namesSite())
})
afterAll(() => site.close())

/** Whether a name can be a tag. */
function isTag(name: string): boolean {
  try {
    checkTag(name)
    return true
  } catch {
    return false
  }
}

describe('a site of names that mean something elsewhere', () => {
  it('is archived as any other: each page ends, nothing is lost, nothing else is taken along', async () => {
    const home = await homes.make()
    const around = () => readdirSync(dirname(home.dataDir)).filter((name) => /escape|passwd/.test(name))
    const before = around()
    const tags = HOSTILE_NAMES.filter(isTag).slice(0, 40)
    expect(tags.length).toBeGreaterThan(30)
    const crawl = await home.add(
      ...['--depth', '1', '--plugins', PLUGINS, '--tag', tags.join(','), '--label', 'x.__proto__', `${site.url}/`],
    )
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], { deadlineMs: 300_000 })
    expect(code, stderr).toBe(0)
    const archived = await expectComplete(home, crawl)
    const there = new Set(Object.keys(namesSite()).map((path) => new URL(path, site.url).href))
    expect(new Set(archived.map(({ url }) => url))).toEqual(there)
    expect(archived.filter(({ outcome }) => outcome !== 'archived').map(({ url, cause }) => [url, cause])).toEqual([])
    const files = (await resultsOf(home, crawl)).filter(({ plugin }) => plugin === 'staticfile')
    for (const { id, url, output_dir } of archived) {
      const [, kind = '', at] = /:\d+\/(path|said|quoted)\/(\d+)/.exec(url) ?? []
      if (kind === '') continue
      const { output_str: file } = files.find(({ snapshot_id }) => snapshot_id === id)!
      expect(readFileSync(join(home.dataDir, output_dir, file), 'utf8'), url).toBe(
        contentOf(HOSTILE_NAMES[Number(at)]!),
      )
    }
    expect(around()).toEqual(before)
    const checked = await home.run(['verify'])
    expect(checked.code, checked.stdout + checked.stderr).toBe(0)
    for (const format of ['jsonl', 'csv', 'netscape'])
      expect((await home.run(['export', '--format', format])).code, format).toBe(0)
  })
})

describe('plugins whose names, files and records mean something elsewhere', () => {
  it('run as others do; what they make is published, and the page ends', async () => {
    const home = await homes.make()
    const names = HOSTILE_NAMES.filter((name) => isPluginName(name) && !/^index|tmp$/.test(name))
    expect(names.length).toBeGreaterThan(30)
    for (const name of names) hook(home, name, '40_x.sh', MAKES_FILES)
    const crawl = await home.add('--plugins', [...names, 'hashes'].join(','), `${site.url}/page/0`)
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], { deadlineMs: 300_000 })
    expect(code, stderr).toBe(0)
    await expectComplete(home, crawl)
    const results = (await resultsOf(home, crawl)).filter(({ plugin }) => plugin !== 'hashes')
    expect(results.map(({ plugin }) => plugin).sort()).toEqual(names.toSorted())
    for (const result of results) expect(result).toMatchObject({ status: 'succeeded', output_str: '__proto__' })
    for (const result of results) expect(Object.keys(result.output_files).sort(), result.plugin).toEqual(FILES)
    expect((await home.run(['verify'])).code).toBe(0)
  })
})

/** Can a folder be called so, and an option name it? */
const isPluginName = (name: string) =>
  !/[/\0]/.test(name) &&
  !/^[._]/.test(name) &&
  name.trim() === name &&
  !name.includes(',') &&
  Buffer.byteLength(name) <= 100 &&
  name.isWellFormed()

const FILES = ['__proto__', 'a\nb', 'a b', 'constructor', 'then/length/x']

/** A hook that makes files of such names, and tells of them under such names. */
const MAKES_FILES = String.raw`
for name in __proto__ constructor $'a\nb' 'a b'; do printf x >"$name"; done
mkdir -p then/length; printf x >then/length/x
json='{"__proto__":{"a":1},"constructor":2,"a\u0000":"\ud800"}'
echo '{"type":"ArchiveResult","status":"succeeded","output_str":"__proto__","output_json":'"$json"'}'
echo '{"type":"Tag","name":"__proto__"}'; echo '{"type":"constructor"}'; echo '{"type":"Snapshot","url":"constructor"}'`
