import { randomBytes } from 'node:crypto'
import { createWriteStream, mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { cdxj } from '../../../src/browse/warc/cdxj.ts'
import { Payload } from '../../../src/browse/warc/payload.ts'
import { SortedLines } from '../../../src/browse/warc/sorted-lines.ts'
import { WarcWriter } from '../../../src/browse/warc/writer.ts'
import { WaczPages } from '../../../src/pages/wacz.ts'
import { newFolder } from '../../support/folders.ts'
import { filesIn, indexed } from '../../support/warc-files.ts'

/** What is this large is compressed by another thread, and makes its part of a package a stream. */
const LARGE = randomBytes(300_000)
const SHARED = Buffer.from(Array.from({ length: 3_000 }, (_, i) => `word ${i * 7_919}`).join())

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'merged-wacz-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** A page as the plugin leaves it: itself, and the same style twice, under names of its own. */
async function page(name: string, at: Date): Promise<void> {
  const place = join(folder, name, 'warc')
  mkdirSync(place, { recursive: true })
  const writer = await WarcWriter.open(place, 'data.warc.gz', {})
  for (const [path, body] of [
    ['', Buffer.concat([Buffer.from(`<p>${name}</p>`), ...(name === 'middle' ? [LARGE] : [])])],
    ['/a.css', SHARED],
    ['/b.css', SHARED],
  ] as const) {
    const common = { at, method: 'GET', requestHeaders: [], status: 200, statusText: 'OK', isDecoded: false }
    await writer.exchange({
      ...common,
      url: `http://x/${name}${path}`,
      headers: [['X-Ü', 'ö']],
      body: Payload.of(body),
    })
  }
  await writer.finish('data.warc.gz')
  writeFileSync(join(place, 'index.cdxj'), cdxj(writer.index, 'data.warc.gz'))
}

it('has the WARCs of all pages as one, with each body once, and references to it that hold', async () => {
  const pages = new WaczPages({ dataDir: folder, dataDirId: 'here' })
  const names = ['old', 'middle', 'new']
  mkdirSync(join(folder, 'without'))
  for (const [hour, name] of names.entries()) await page(name, new Date(Date.UTC(2026, 0, 1, hour)))
  for (const id of [...names, 'without', 'elsewhere', 'cancelled'].reverse())
    pages.add({
      id,
      url: `http://x/${id}#part`,
      title: id,
      output_dir: id,
      home_node: id === 'elsewhere' ? 'other' : 'here',
    })
  expect([pages.count, pages.lacking, pages.elsewhere]).toEqual([3, 2, 1])
  expect(pages.away).toEqual(new Map([['other', 1]]))
  await pages.write(createWriteStream(join(folder, 'all.wacz')), 'All')
  pages.close()

  const parts = filesIn(join(folder, 'all.wacz'))
  const text = (name: string) => parts.get(name)!.bytes.toString()
  const listed = text('pages/pages.jsonl').trimEnd().split('\n').slice(1)
  expect(listed.map((line) => JSON.parse(line))).toEqual(
    names.map((id, hour) => ({ id, url: `http://x/${id}`, title: id, ts: `2026-01-01T0${hour}:00:00Z` })),
  )
  expect(JSON.parse(text('datapackage.json'))).toMatchObject({
    title: 'All (3 of 4 pages: the others are not here)',
    mainPageUrl: 'http://x/old',
  })
  const index = gunzipSync(parts.get('indexes/index.cdx.gz')!.bytes).toString()
  const lines = await indexed(index, parts.get('archive/data.warc.gz')!.bytes)
  expect(lines.map(({ url, record }) => [url, record.url, record.type])).toEqual(
    ['middle', 'new', 'old'].flatMap((name) =>
      ['', '/a.css', '/b.css'].map((path) => {
        const url = `http://x/${name}${path}`
        return [url, url, path === '' || url === 'http://x/old/a.css' ? 'response' : 'revisit']
      }),
    ),
  )
  for (const { mime, record } of lines.filter(({ record: { type } }) => type === 'revisit')) {
    expect(mime).toBe('warc/revisit')
    expect(record.fields.get('warc-refers-to-target-uri')).toBe('http://x/old/a.css')
    expect(record.fields.get('warc-refers-to-date')).toMatch(/^2026-01-01T00:00:00/)
    expect(record.http.get('x-ü')).toBe('ö')
    expect(record.body).toHaveLength(0)
  }
})

it('knows when one of its pages is there no more', async () => {
  await page('leaving', new Date())
  const pages = new WaczPages({ dataDir: folder, dataDirId: 'here' })
  for (const id of ['leaving', 'none'])
    pages.add({ id, url: 'http://x/', title: null, output_dir: id, home_node: null })
  expect(pages.areThere).toBe(true)
  rmSync(join(folder, 'leaving'), { recursive: true })
  expect(pages.areThere).toBe(false)
  pages.close()
})

it('sorts more lines than it holds, in files that nobody has to remove', async () => {
  const folder = newFolder()
  vi.stubEnv('TMPDIR', folder)
  const lines = Array.from({ length: 1_000 }, (_, i) => `${(i * 7_919) % 1_000} line\n`)
  const sorted = new SortedLines(500)
  for (const line of lines) sorted.add(line)
  expect(readdirSync(folder)).toEqual([])
  vi.unstubAllEnvs()
  const merged: string[] = []
  for await (const line of sorted.merged()) merged.push(line)
  expect(merged).toEqual(lines.toSorted())
  sorted.close()
  rmdirSync(folder)
})
