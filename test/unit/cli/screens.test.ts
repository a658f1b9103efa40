// The drawing of screens and tables, which knows no terminal: texts and widths in, lines out.
import pc from 'picocolors'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Work } from '../../../src/app/status/work.ts'
import { oneLine } from '../../../src/base/clean.ts'
import { failureLines, failureText } from '../../../src/cli/failure-lines.ts'
import { bar } from '../../../src/cli/screen/bar.ts'
import { cutEnd, cutMiddle, padEnd } from '../../../src/cli/screen/fit.ts'
import { flow, wrapped, wrappedUncut } from '../../../src/cli/screen/flow.ts'
import { refoot, repaint } from '../../../src/cli/screen/frame.ts'
import { pageEndLine } from '../../../src/cli/screen/page-end.ts'
import { table } from '../../../src/cli/screen/table.ts'
import { loadWidths, widthOf } from '../../../src/cli/screen/width.ts'
import { workLines } from '../../../src/cli/screen/work.ts'
import type { CrawlProgress } from '../../../src/db/crawl-progress.ts'
import { SmallTerminal } from '../../support/small-terminal.ts'

const palette = pc.createColors(false)
const coloured = pc.createColors(true)
const on = (columns: number) => ({ columns, palette, ascii: false })
const FAMILY = '👩‍👩‍👧‍👦'
const WIDTHS = [80, 40, 20]

beforeAll(() => loadWidths([FAMILY]))

describe('texts of strangers', () => {
  it('cannot move the cursor, turn the direction, hide, or begin a line', () => {
    expect(oneLine('\u001b[2Ja\u001b]0;title\u0007b\rc\nd\te')).toBe('ab c d e')
    expect(oneLine('\u202Eevil\u202C \u2066x\u2069 \u200Fy')).toBe('evil x y')
    expect(oneLine('a\u200b\u00ad\ufeffb\u2028c\u0000')).toBe('ab c')
    expect(oneLine(`${FAMILY} e\u0301 \ud800`)).toBe(`${FAMILY} e\u0301 \ufffd`)
  })

  it('are cut between what is seen as one character, and never wider than asked', () => {
    const texts = [
      'plain text that is long',
      `日本語のページ ${FAMILY} 日本`,
      `${FAMILY.repeat(12)}`,
      'e\u0301'.repeat(30),
      '',
    ]
    for (const text of texts)
      for (let width = 0; width < 30; width += 1)
        for (const cut of [cutEnd, cutMiddle]) {
          const short = cut(text, width)
          expect(widthOf(short), `${cut.name} ${width}: ${short}`).toBeLessThanOrEqual(width)
          if (widthOf(text) <= width) expect(short).toBe(text)
          else if (width > 0) expect(short).toContain('…')
        }
    expect(cutMiddle('https://example.org/a/b/c/d.html', 15)).toBe('https:/…/d.html')
    expect(cutMiddle(FAMILY.repeat(3), 5)).toBe(`${FAMILY}…${FAMILY}`)
    expect(cutMiddle('x'.repeat(10_000_000), 9)).toBe('xxxx…xxxx')
    expect(padEnd('日本', 6)).toBe('日本  ')
  })

  it('flow in lines that end with the comma, each part whole as long as a line can hold it', () => {
    const parts = ['one', 'two', 'three', 'a-part-that-is-too-long'].map((text) => ({ text }))
    expect(flow(parts, ', ', 12)).toEqual(['one, two,', 'three,', 'a-part…-long'])
    expect(flow(parts.slice(0, 3), ', ', 12, 6)).toEqual(['one,', 'two, three'])
    expect(flow(parts.slice(2, 3), ', ', 12, 10)).toEqual(['', 'three'])
    expect(wrapped('start one with archivebox-ts run', 20)).toEqual(['start one with', 'archivebox-ts run'])
    for (const text of ['no program /usr/local/bin/wget', 'start one'])
      expect(wrappedUncut(text, 12), 'for copying').toEqual([text])
  })
})

describe('a bar', () => {
  const of = (archived: number, failed: number, total: number, width: number) =>
    bar(
      [
        { amount: archived, style: (cells) => cells.replaceAll('█', 'A') },
        { amount: failed, style: (cells) => cells.replaceAll('█', 'F') },
      ],
      total,
      width,
      false,
    )

  it('is full only when all is done, shows a beginning, and a failure among thousands', () => {
    expect(of(0, 0, 10, 10)).toBe('░░░░░░░░░░')
    expect(of(1, 0, 10_000, 10)).toBe('A░░░░░░░░░')
    expect(of(9_999, 0, 10_000, 10)).toBe('AAAAAAAAA░')
    expect(of(9_999, 1, 10_000, 10)).toBe('AAAAAAAAAF')
    expect(of(5, 5, 10, 10)).toBe('AAAAAFFFFF')
    expect(of(0, 3, 3, 4)).toBe('FFFF')
    expect(of(0, 0, 0, 4)).toBe('░░░░')
  })

  it('always has its width', () => {
    for (let archived = 0; archived <= 12; archived += 1)
      for (let failed = 0; failed <= 12 - archived; failed += 1)
        for (const width of [1, 2, 7, 30]) expect(of(archived, failed, 12, width)).toHaveLength(width)
  })
})

const counts = { queued: 380, started: 4, paused: 0, archived: 400, partial: 9, failed: 8 }
const crawl: CrawlProgress = {
  id: '01a1ff67-0000-7000-8000-0000e8b2aa01',
  status: 'started',
  label: `Nachrichten \u202E日本語 ${FAMILY} of a very long week`,
  first_url: 'https://example.org/',
  counts,
  total: 801,
  done: 417,
  grows: false,
  pages_per_second: 12.4,
  seconds_left: 31,
}
const work: Work = {
  crawls: [
    crawl,
    { ...crawl, label: '', status: 'queued', total: 0, done: 0, pages_per_second: null, seconds_left: null },
  ],
  otherCrawls: 12,
  pages: [
    {
      worker_id: 'w',
      snapshot_id: 's',
      crawl_id: crawl.id,
      url: 'https://example.org/a/rather/long/path/日本語/to/a/page.html?with=a&query=string',
      status: 'started',
      seconds: 90,
      hooks: [{ plugin: 'a_plugin_with_a_long_name', hook_name: 'on_Snapshot__1_a.sh', process_id: null, seconds: 7 }],
    },
  ],
}

describe('what is worked on', () => {
  it('fits every terminal, of 20 columns, too', () => {
    for (const width of [...WIDTHS, 30, 60, 200])
      for (const line of workLines(work, on(width))) expect(widthOf(line), line).toBeLessThanOrEqual(width)
    expect(workLines(work, on(80))).toEqual([
      `Nachrichten 日本語 ${FAMILY} of a very long week  e8b2aa01`,
      '██████████░░░░░░░░░░  417/801 52%  12/s  about 31 s left  8 failed  9 partial',
      'example.org/  e8b2aa01',
      'queued  8 failed  9 partial',
      'and 12 more in work or queued',
      '  a_plug…_name    7 s example.org/a/rather/long/pat…age.html?with=a&query=string',
    ])
    expect(workLines(work, on(20)).slice(0, 4)).toEqual([
      'Nachr…week  e8b2aa01',
      '417/801 52%  12/s',
      'about 31 s left',
      '8 failed  9 partial',
    ])
  })

  it('has no estimate where nobody knows, and says why', () => {
    const growing = { ...crawl, grows: true, seconds_left: null }
    const text = workLines({ ...work, crawls: [growing] }, on(80)).join('\n')
    expect(text).toContain('417/801  12/s  still finding pages')
    expect(text).not.toContain('%')
    expect(text).not.toContain('left')
  })

  it('is green for archived alone', () => {
    const text = workLines(
      { crawls: [crawl], otherCrawls: 0, pages: work.pages },
      { ...on(80), palette: coloured },
    ).join('')
    const green = text
      .split('\u001b[32m')
      .slice(1)
      .map((rest) => rest.split('\u001b')[0])
    expect(green).toEqual(['█'.repeat(8)])
    expect(text).toContain('\u001b[31m8 failed')
    expect(text).toContain('\u001b[33m9 partial')
  })

  it('on a typewriter is drawn with what it has', () => {
    const [, line = ''] = workLines({ ...work, crawls: [{ ...crawl, label: 'x' }] }, { ...on(80), ascii: true })
    expect(line).toMatch(/^#+-+ {2}417/)
  })
})

describe('the end of a page', () => {
  const page = {
    url: 'https://example.org/a/b/c.html',
    title: 'A \u001b[31mtitle',
    outcome: 'archived',
    cause: null,
  } as const
  it('is one line that tells how and why at every width', () => {
    expect(pageEndLine(page, on(80))).toBe('✓ https://example.org/a/b/c.html  A title')
    expect(pageEndLine({ ...page, outcome: 'failed', cause: 'HTTP 404' }, on(80))).toBe(
      '✗ https://example.org/a/b/c.html  HTTP 404',
    )
    // What a URL can do without is its scheme, then its middle.
    expect(pageEndLine({ ...page, outcome: 'failed', cause: 'HTTP 404' }, on(40))).toBe(
      '✗ example.org/a/b/c.html  HTTP 404',
    )
    expect(pageEndLine({ ...page, outcome: 'failed', cause: 'HTTP 404' }, on(30))).toMatch(
      /^✗ exam\S*…\S+ {2}HTTP 404$/,
    )
    for (const width of WIDTHS)
      for (const cause of [null, 'connection refused', 'x'.repeat(200)])
        for (const url of [page.url, `https://${'a'.repeat(3_000)}`, 'https://日本語.example/日本語日本語'])
          expect(widthOf(pageEndLine({ ...page, url, cause }, on(width)))).toBeLessThanOrEqual(width)
  })
})

describe('kinds of failures', () => {
  const group = { host: 'example.org', partial: 0, snapshot_ids: ['01a1ff67-0000-7000-8000-0000e8b2aa01'], pages: 37 }
  const [many] = failureLines([{ ...group, cause: 'connection refused', sealed_at: new Date() }], () => undefined)
  const url = `https://example.org/${'a/'.repeat(40)}page.html`
  const [one] = failureLines([{ ...group, pages: 1, cause: 'timed out after 60 s', sealed_at: new Date() }], () => url)

  it('keep their cause at every width: what is cut is the URL', () => {
    expect(failureText(many!, 80)).toBe('37 pages: connection refused (example.org)')
    expect(failureText(one!, 38)).toMatch(/^exam\S*…\S*l: timed out after 60 s$/)
    for (const width of [...WIDTHS, 200])
      for (const line of [many!, one!]) expect(widthOf(failureText(line, width))).toBeLessThanOrEqual(width)
  })
})

describe('a table', () => {
  interface Row {
    readonly id: string
    readonly outcome: string
    readonly title: string
    readonly url: string
  }
  const columns = [
    { name: 'id', value: ({ id }: Row) => id },
    { name: 'outcome', value: ({ outcome }: Row) => outcome },
    { name: 'title', value: ({ title }: Row) => title, cut: 'end', insteadOf: 'url' },
    { name: 'url', value: ({ url }: Row) => url, cut: 'middle', rank: 2 },
    { name: 'note', value: () => '', optional: true },
  ] as const
  const rows: Row[] = [
    {
      id: 'e8b2aa01',
      outcome: 'archived',
      title: '日本語のページ日本語のページ日本語のページ',
      url: 'https://example.org/1/2/3/4/5/6/7/8',
    },
    { id: 'e8b2aa02', outcome: 'failed', title: '', url: 'https://example.org/another/page/of/it' },
  ]
  const at = async (width: number) => (await table(columns, rows, { width, palette })).trimEnd().split('\n')

  it('is as wide as its terminal at most, cut where that harms least, with its columns below each other', async () => {
    for (const width of [80, 60, 40])
      for (const line of await at(width)) expect(widthOf(line)).toBeLessThanOrEqual(width)
    expect(await at(60)).toEqual([
      'id        outcome   title                url',
      'e8b2aa01  archived  日本語のページ日本…  example.o…4/5/6/7/8',
      'e8b2aa02  failed                         example.o…age/of/it',
    ])
  })

  it('without room for the URL shows it where there is no title', async () => {
    const [head, first, second] = await at(40)
    expect(head).toMatch(/^id {8}outcome {3}title$/)
    expect(first).toContain('日本語の')
    expect(second).toMatch(/failed {4}example\.or…age\/of\/it$/)
  })

  it('shows below each row what it cannot do without, when that has no room', async () => {
    const below = columns.map((column) => (column.name === 'url' ? { ...column, below: true as const } : column))
    const lines = (await table(below, rows, { width: 40, palette })).trimEnd().split('\n')
    expect(lines).toHaveLength(4) // The second row has its URL as a title.
    expect(lines[2]).toBe('  https://example.org/1/2/3/4/5/6/7/8')
  })

  it('where nobody looks is not cut', async () => {
    expect((await at(Number.POSITIVE_INFINITY))[1]).toBe(`e8b2aa01  archived  ${rows[0]!.title}  ${rows[0]!.url}`)
  })
})

describe('a frame', () => {
  it('becomes another one by what changed alone', () => {
    const before = ['one', 'two', 'three', 'four']
    for (const after of [before, ['one', '2', 'three', 'four'], ['a', 'b'], [], [...before, 'five']]) {
      const screen = new SmallTerminal(20).write(repaint(undefined, before)).write(repaint(before, after))
      expect(screen.lines.filter(Boolean)).toEqual(after)
    }
    expect(repaint(before, before)).toBe('')
    expect(repaint(before, ['one', 'two', '3', 'four'])).not.toContain('two')
  })

  it('at the foot stays below what is said, whatever its height', () => {
    const screen = new SmallTerminal(20)
    const said: string[] = []
    let foot: readonly string[] = []
    const show = (news: string, next: readonly string[]) => {
      screen.write(refoot(foot, foot.length, news === '' ? '' : `${news}\r\n`, next))
      if (news !== '') said.push(news)
      foot = next
      expect(screen.lines.filter(Boolean)).toEqual([...said, ...foot])
    }
    show('', ['bar', 'worker 1'])
    show('page 1', ['bar', 'worker 1'])
    show('', ['bar!', 'worker 1'])
    show('page 2', ['bar!', 'worker 1', 'worker 2'])
    show('', ['bar!'])
    show('page 3', [])
    show('page 4', ['bar again'])
    expect(refoot(foot, 1, '', foot)).toBe('')
  })

  it('at the foot of a terminal that became narrower leaves nothing behind', () => {
    // It has wrapped the old lines: 20 columns show 30 of them on two rows.
    const wide = ['x'.repeat(30), 'y'.repeat(10)]
    const screen = new SmallTerminal(20).write(`said\r\n${wide.join('\r\n')}`)
    screen.write(refoot(wide, 3, '', ['short']))
    expect(screen.lines).toEqual(['said', 'short'])
  })
})
