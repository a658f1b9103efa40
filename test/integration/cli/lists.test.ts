// Every `list` takes the same options, and shows its rows in the same ways.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { unmarked } from '../../../src/base/formula-mark.ts'
import { type VerbTree, verbTree } from '../../../src/cli/completion/tree.ts'
import { commandTree } from '../../../src/cli/program.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { runAll } from '../../support/queued.ts'
import { records } from '../../support/records.ts'
import { expectRefused } from '../../support/refused.ts'
import { type Site, startSite } from '../../support/site.ts'

/** What `-o ids` prints of each, a column that is no field of its records, and a field that moves with the clock. */
interface Listed {
  readonly id: string
  readonly column: string
  readonly words?: readonly string[]
  readonly moving?: string
}

const LISTS: Readonly<Record<string, Listed>> = {
  crawl: { id: 'id', column: 'what' },
  snapshot: { id: 'id', column: 'added' },
  result: { id: 'id', column: 'took' },
  process: { id: 'id', column: 'what', words: ['--all'] },
  schedule: { id: 'id', column: 'next' },
  machine: { id: 'id', column: 'heard of' },
  node: { id: 'id', column: 'heard of', moving: 'heartbeat_age_s' },
  tag: { id: 'name', column: 'tag' },
  plugin: { id: 'name', column: 'needs' },
  persona: { id: 'name', column: 'trouble' },
  config: { id: 'key', column: 'set by', words: ['timeout'] },
}
const SHARED = ['-n', '--wide', '--output', '--columns']

const homes = useHomes()
const lists = verbTree(commandTree()).verbs.flatMap(({ name, verbs }) =>
  verbs.filter((verb) => verb.name === 'list').map((verb): [string, VerbTree] => [name, verb]),
)
let site: Site
let home: TestHome

beforeAll(async () => {
  site = await startSite({ '/': '<title>=1+1</title>text', '/other.html': '<title>a "b", c</title>text' })
  home = await homes.original()
  for (const [name, text] of [
    ['Broken', 'TIMEOUT = '],
    ['Reader', 'TIMEOUT = 9\n'],
  ] as const) {
    mkdirSync(join(home.dataDir, 'personas', name), { recursive: true })
    writeFileSync(join(home.dataDir, 'personas', name, 'persona.toml'), text)
  }
  await home.add('--plugins', 'html,title', '--tag', 'a,b', `${site.url}/?x="1",2`, `${site.url}/other.html`)
  await home.add('--plugins', 'html', `${site.url}/`)
  await runAll(home)
  await records(home, ['schedule', 'add', '--every', 'day', `${site.url}/`])
})
afterAll(() => site.close())

/** The rows of a CSV file. */
function rowsOf(text: string): string[][] {
  return [...text.matchAll(/((?:"(?:[^"]|"")*"|[^",\n])*(?:,(?:"(?:[^"]|"")*"|[^",\n])*)*)\n/g)].map(([, line]) =>
    [...line!.matchAll(/(?:^|,)("(?:[^"]|"")*"|[^",]*)/g)].map(([, field]) =>
      unmarked(field!.startsWith('"') ? field!.slice(1, -1).replaceAll('""', '"') : field!),
    ),
  )
}

const asText = (value: unknown) =>
  typeof value === 'string' ? value : value === null || value === undefined ? '' : JSON.stringify(value)

describe('every list', () => {
  it('is known here, and takes the options of all lists', () => {
    expect(lists.map(([noun]) => noun).sort()).toEqual(Object.keys(LISTS).sort())
    for (const [noun, { flags }] of lists)
      expect(
        flags.map(({ names }) => names[0]),
        noun,
      ).toEqual(expect.arrayContaining(SHARED))
  })

  it.each(Object.entries(LISTS))(
    'of %s shows its rows in any format',
    async (noun, { id, column, words = [], moving = '' }) => {
      const still = (record: Record<string, unknown>) =>
        Object.fromEntries(Object.entries(record).filter(([name]) => name !== moving))
      const list = [noun, 'list', ...words]
      const print = async (...options: string[]) => {
        const { code, stdout, stderr } = await home.run([...list, ...options])
        expect({ code, stderr }, options.join(' ')).toEqual({ code: 0, stderr: '' })
        return stdout
      }
      const [all, plain, first, ids, csv, some, few, wide, table] = await Promise.all([
        records(home, [...list, '--json']),
        records(home, list),
        records(home, [...list, '-n', '1', '-o', 'json']),
        print('-o', 'ids'),
        print('-o', 'csv'),
        print('-o', 'csv', '--columns', `${id},${column}`),
        records(home, [...list, '--columns', `${column},type`, '-o', 'jsonl']),
        print('-o', 'wide'),
        print('-o', 'table', '--columns', `${id},type`),
      ])
      const known = all.map((record) => String(record[id]))
      expect(known.length).toBeGreaterThan(0)
      expect(plain.map(still)).toEqual(all.map(still))
      expect(first.map(still)).toEqual(all.slice(0, 1).map(still))
      expect(ids).toBe(known.map((each) => `${each}\n`).join(''))
      const fields = [...new Set(all.flatMap((record) => Object.keys(record)))]
      const [names, ...lines] = rowsOf(csv)
      expect(names).toEqual(fields)
      expect(lines.map((line) => line.filter((_field, at) => fields[at] !== moving))).toEqual(
        all.map((record) => fields.filter((field) => field !== moving).map((field) => asText(record[field]))),
      )
      expect(rowsOf(some).map(([each]) => each)).toEqual([id, ...known])
      expect(rowsOf(some)[0]).toEqual([id, column])
      expect(few.map((record) => Object.keys(record))).toEqual(all.map(() => [column, 'type']))
      for (const each of known) expect(wide).toContain(each)
      expect(wide.split('\n')).toHaveLength(known.length + 2)
      expect(table.split('\n')[0]).toMatch(new RegExp(`^${id} +type$`))
      expect(
        table
          .trimEnd()
          .split('\n')
          .slice(1)
          .map((line) => line.split(/ +/)[1]),
      ).toEqual(all.map(({ type }) => type))
    },
  )

  it.each(Object.entries(LISTS))('of %s refuses what it cannot show', async (noun, { words = [] }) => {
    const refused = async (reason: RegExp, ...options: string[]) =>
      expectRefused(await home.run([noun, 'list', ...words, ...options]), reason)
    await Promise.all([
      refused(/--json and -o csv exclude each other/, '--json', '-o', 'csv'),
      refused(/there is no column "nonsense"/, '--columns', 'type,nonsense'),
      refused(/there is no column "nonsense"/, '--wide', '--columns', 'nonsense'),
      refused(/--columns takes names/, '--columns', ','),
      refused(/-n takes a whole number above 0/, '-n', '0'),
    ])
  })
})

it('a field has the quotes that CSV wants, and fields and columns come in the order that was asked for', async () => {
  const list = async (...args: string[]) => (await home.run(['snapshot', 'list', '--tag', 'a', ...args])).stdout
  expect(await list('-o', 'csv', '--columns', 'depth,title,tags')).toBe(
    'depth,title,tags\n0,"a ""b"", c","[""a"",""b""]"\n0,\'=1+1,"[""a"",""b""]"\n',
  )
  expect(await list('--json', '--columns', 'depth,outcome', '-n', '1')).toBe('{"depth":0,"outcome":"archived"}\n')
  expect(await list('-o', 'table', '--columns', 'id,crawl_id', '-n', '1')).toMatch(
    /^id +crawl_id\n[0-9a-f]{8} {2}[-0-9a-f]{36}\n$/,
  )
})

it('a table of rows that come ends after 100, and says how to see more', async () => {
  const many = await homes.make()
  const input = Array.from({ length: 101 }, (_, n) => `http://127.0.0.1:9/${n}\n`).join('')
  expect((await many.run(['snapshot', 'create', '-q', '-'], { input })).code).toBe(0)
  const lines = async (...options: string[]) => {
    const { stdout, stderr } = await many.run(['snapshot', 'list', ...options])
    return [stdout.trimEnd().split('\n').length, stderr]
  }
  expect(await lines('--wide')).toEqual([101, 'only the newest 100 are shown; -n shows more\n'])
  expect(await lines('--wide', '-n', '101')).toEqual([102, ''])
  expect(await lines('--json')).toEqual([101, ''])
})
