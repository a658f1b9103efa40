import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { afterAll, describe, expect, it } from 'vitest'
import type { Found } from '../../../src/importers/entry.ts'
import { readEntries } from '../../../src/importers/read.ts'
import { row } from '../../support/entries.ts'
import { newFolder } from '../../support/folders.ts'

const sqlite = createRequire(import.meta.url)('node:sqlite') as typeof import('node:sqlite')
const folder = newFolder()
const open: DatabaseSync[] = []
const { TMPDIR } = process.env
// Where copies are made, and nobody else's.
process.env['TMPDIR'] = folder
afterAll(() => {
  if (TMPDIR === undefined) delete process.env['TMPDIR']
  else process.env['TMPDIR'] = TMPDIR
  for (const db of open) db.close()
  rmSync(folder, { recursive: true, force: true })
})

/** A database that its browser has open: the last of it is not in the file yet. */
function inUse(name: string, tables: string, rows: string): string {
  const file = join(folder, name)
  const db = new sqlite.DatabaseSync(file)
  db.exec(`pragma journal_mode = wal; ${tables}`)
  db.exec(rows)
  open.push(db)
  return file
}

async function entriesOf(source: string | Readable): Promise<unknown[]> {
  const found: Found[] = []
  for await (const some of readEntries(source, undefined)) found.push(...some)
  return found.map(row)
}

const copies = () => readdirSync(folder).filter((name) => /^archivebox-ts-(?:sqlite|stdin)-/.test(name))

describe('the history', () => {
  const firefox = inUse(
    'places.sqlite',
    `create table moz_places (id integer primary key, url text, title text, visit_count integer,
       last_visit_date integer);
     create table moz_bookmarks (id integer primary key, fk integer, parent integer, title text, guid text,
       dateAdded integer);`,
    `insert into moz_places values
       (1, 'https://visited.example/', 'Visited', 3, 1500000000000000),
       (2, 'https://kept.example/', 'Its own title', 0, null),
       (3, 'https://neither.example/', null, 0, null),
       (4, 'place:sort=8', null, 1, null);
     insert into moz_bookmarks values
       (1, null, 0, 'tags', 'tags________', 0), (2, null, 1, 'sea', 'a', 0),
       (3, 2, 9, 'My title', 'b', 1600000000000000), (4, 2, 2, null, 'c', 1600000000000001);`,
  )

  it('of Firefox, in use, is read with bookmarks and tags, from a file or a pipe, and left alone', async () => {
    const before = readFileSync(firefox)
    const expected = [
      { url: 'https://visited.example/', title: 'Visited', at: '2017-07-14T02:40:00.000Z' },
      { url: 'https://kept.example/', title: 'My title', tags: ['sea'], at: '2020-09-13T12:26:40.000Z' },
    ]
    expect(await entriesOf(firefox)).toEqual(expected)
    expect(readFileSync(firefox).equals(before)).toBe(true)
    open[0]!.exec('pragma wal_checkpoint(truncate)')
    expect(await entriesOf(Readable.from([readFileSync(firefox)]))).toEqual(expected)
    expect(copies()).toEqual([])
  })

  it('of Chromium is read without what it hides', async () => {
    const history = inUse(
      'History',
      'create table urls (id integer primary key, url text, title text, last_visit_time integer, hidden integer)',
      `insert into urls values (1, 'https://a.example/', 'A', 13144473600000000, 0),
        (2, 'https://hidden.example/', '', 13144473600000000, 1)`,
    )
    expect(await entriesOf(history)).toEqual([
      { url: 'https://a.example/', title: 'A', at: '2017-07-14T02:40:00.000Z' },
    ])
  })

  it('of something else is refused', async () => {
    const other = inUse('other.sqlite', 'create table t (a)', 'insert into t values (1)')
    await expect(entriesOf(other)).rejects.toThrow('not the history of Firefox or Chromium')
    expect(copies()).toEqual([])
  })
})
