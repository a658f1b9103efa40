import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete } from '../../support/archive.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { plugin } from '../../support/plugins.ts'
import { runAll } from '../../support/queued.ts'
import { lines, records, refusal } from '../../support/records.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site
beforeAll(async () => {
  site = await startSite(4)
})
afterAll(() => site.close())

async function withNotes(): Promise<TestHome> {
  const home = await homes.make()
  plugin(home, 'notes', 'printf "%s %s" "$NOTES_A" "$NOTES_B" >env.txt')
  const properties = {
    NOTES_A: { type: 'string', 'x-set-by': 'page' },
    NOTES_B: { type: 'string', enum: ['one', 'two'] },
  }
  writeFileSync(join(home.dataDir, 'plugins', 'notes', 'config.json'), JSON.stringify({ properties }))
  return home
}

const url = (page: number) => `${site.url}/page-${page}.html`
const page = (number: number, settings: unknown) => lines({ type: 'Snapshot', url: url(number), settings })
const own = (value: string) => ({ value, source: 'snapshot' })

describe('the settings of a page', () => {
  it('win over those of its crawl, and are shown with it; the other pages have those of the crawl', async () => {
    const home = await withNotes()
    const crawl = await home.add('--plugins', 'notes', '-c', 'NOTES_A=crawl', '-c', 'NOTES_B=one', url(1))
    const create = ['snapshot', 'create', '--crawl-id', crawl, '-c', 'notes_a=given', '-']
    const made = await records(home, create, `${page(2, { NOTES_A: 'page' })}${page(3, { NOTES_B: own('two') })}`)
    expect(made.map(({ settings }) => settings)).toEqual([
      { NOTES_A: own('page') },
      { NOTES_A: own('given'), NOTES_B: own('two') },
    ])
    // As `snapshot list` prints them they are those of the same page elsewhere.
    const [again] = await records(home, ['crawl', 'create', '--plugins', 'notes', '-'], lines(made[0]!))
    await runAll(home)
    const told = async (id: string) =>
      Object.fromEntries(
        (await expectComplete(home, id)).map((row) => [
          row.url,
          readFileSync(join(home.dataDir, row.output_dir, 'notes', 'env.txt'), 'utf8'),
        ]),
      )
    expect(await told(crawl)).toEqual({ [url(1)]: 'crawl one', [url(2)]: 'page one', [url(3)]: 'given two' })
    expect(await told(again!.id)).toEqual({ [url(2)]: 'page ' })
    const index = readFileSync(join(home.dataDir, String(made[0]!['output_dir']), 'index.jsonl'), 'utf8')
    expect(JSON.parse(index.split('\n')[0]!)).toMatchObject({ type: 'Snapshot', settings: { NOTES_A: own('page') } })
  })

  it('stay as they are when the page is there already, which is said', async () => {
    const home = await homes.make()
    const [first] = await records(home, ['snapshot', 'create', '-c', 'TIMEOUT=7', url(4)])
    const add = ['snapshot', 'create', '--crawl-id', String(first!['crawl_id']), '-c', 'TIMEOUT=8', url(4)]
    const { stdout, stderr } = await home.run(add)
    expect(stderr).toContain('1 page existed already: their settings stay')
    expect(JSON.parse(stdout)).toMatchObject({ id: first!.id, settings: { TIMEOUT: own('7') } })
  })

  it('are refused, and nothing is written, where a page cannot have them', async () => {
    const home = await withNotes()
    const create = ['snapshot', 'create']
    await refusal(home, [...create, '-c', 'NOTES_C=1', url(1)], 2, /-c NOTES_C is not a setting: did you mean NOTES_/)
    await refusal(home, [...create, '-c', 'WGET_BINARY=/x', url(1)], 2, /-c WGET_BINARY cannot be set for a crawl/)
    for (const [settings, reason] of [
      [{ WGET_BINARY: '/tmp/evil' }, /WGET_BINARY is not a setting of a page/],
      [{ ACTIVE_PERSONA: 'Reader' }, /ACTIVE_PERSONA is a setting of the whole crawl/],
      [{ NOTES_B: 'three' }, /NOTES_B=three: it takes one of one, two/],
      [{ NOTES_A: { value: 'x', source: 'crawl' } }, /NOTES_A must be a value, or have one and the source `snapshot`/],
      [{ COOKIES_FILE: own('***') }, /the record does not have the value of COOKIES_FILE/],
      [{ NOTES_A: 'a\0b' }, /the value of NOTES_A is not text/],
      [['TIMEOUT=1'], /expected an object such as/],
    ] as const)
      await refusal(home, [...create, '-'], 2, reason, page(1, settings))
    expect(await home.value('select count(*) from snapshot')).toBe('0')
  })
})
