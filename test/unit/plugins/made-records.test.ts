// What plugins have made of a page lies in its WARC and WACZ, by what they say of themselves.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findPlugins } from '../../../src/hooks/discover.ts'
import { saidBy } from '../../../src/hooks/upstream/meanings.ts'
import { at, runRow, snapshot, useHookRuns } from '../../support/hook-runs.ts'
import { ROOT } from '../../support/program.ts'
import { filesIn, recordsIn } from '../../support/warc-files.ts'

useHookRuns()

/** The files that the built-in plugins make, in the order of their hooks. */
const BUILT_IN = [
  'screenshot/screenshot-2.png',
  'screenshot/screenshot.png',
  'screenshot/viewport.jpg',
  'screenshot/thumbnail.webp',
  'pdf/output.pdf',
  'title/title.txt',
  'readability/content.txt',
  'htmltotext/htmltotext.txt',
]

/** What our own plugins say that they make, and this one. */
function around(more: object = {}): string {
  const own = findPlugins([join(ROOT, 'src', 'plugins')]).map((plugin) => [plugin.name, saidBy(plugin)])
  return JSON.stringify({ ...Object.fromEntries(own), ...more })
}

/** Runs both hooks in a page with these files, each of which holds its own name. */
async function packed(files: readonly string[], more: object = {}) {
  for (const file of files) {
    mkdirSync(dirname(join(snapshot, file)), { recursive: true })
    writeFileSync(join(snapshot, file), `${file}\n`)
  }
  const url = at('/page-1.html')
  await runRow(['html', 'warc', 'wacz'], url, { ARCHIVEBOX_MAKES: around(more) })
  const records = await recordsIn(readFileSync(join(snapshot, 'warc', 'data.warc.gz')))
  const list = filesIn(join(snapshot, 'wacz', 'page.wacz'))
    .get('pages/pages.jsonl')!
    .bytes.toString()
  const { title, text } = JSON.parse(list.split('\n')[1]!) as { title?: string; text?: string }
  const made = records.filter(({ type }) => type === 'resource')
  return {
    records: made.map((record) => [
      record.url.replace(`:${url}`, ''),
      record.fields.get('content-type'),
      String(record.body).trim(),
    ]),
    title,
    text,
  }
}

describe('the records of what is made', () => {
  it('are of the same files of our own plugins as ever', async () => {
    expect(await packed(BUILT_IN)).toEqual({
      records: [
        ['urn:view', 'image/jpeg', 'screenshot/viewport.jpg'],
        ['urn:fullPage', 'image/png', 'screenshot/screenshot.png'],
        ['urn:thumbnail', 'image/webp', 'screenshot/thumbnail.webp'],
        ['urn:pdf', 'application/pdf', 'pdf/output.pdf'],
        ['urn:text', 'text/plain; charset=utf-8', 'htmltotext/htmltotext.txt'],
      ],
      title: 'title/title.txt',
      text: 'htmltotext/htmltotext.txt\n',
    })
  })
  it('have the text of an article where there is no other', async () => {
    const { records, text } = await packed(['readability/content.txt'])
    expect([records, text]).toEqual([
      [['urn:text', 'text/plain; charset=utf-8', 'readability/content.txt']],
      'readability/content.txt\n',
    ])
  })

  it('are of what a plugin of somebody else makes, too, the best first', async () => {
    const chart = { rank: 1, picture: true, mainFile: 'chart.jpeg', title: 'name.txt' }
    const print = { rank: 2, mainFile: 'print.pdf', text: 'words.txt', picture: true }
    const own = ['chart/chart.jpeg', 'chart/name.txt', 'print/print.pdf', 'print/words.txt', 'print/thumbnail.webp']
    const { records, title, text } = await packed([...own, ...BUILT_IN.slice(0, -1)], { chart, print })
    expect([title, text]).toEqual(['chart/name.txt', 'print/words.txt\n'])
    expect(records).toEqual([
      ['urn:view', 'image/jpeg', 'screenshot/viewport.jpg'],
      ['urn:fullPage', 'image/jpeg', 'chart/chart.jpeg'],
      ['urn:thumbnail', 'image/webp', 'print/thumbnail.webp'],
      ['urn:pdf', 'application/pdf', 'print/print.pdf'],
      ['urn:text', 'text/plain; charset=utf-8', 'print/words.txt'],
    ])
  })
})
