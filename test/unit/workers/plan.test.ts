import { describe, expect, it } from 'vitest'
import type { Hook } from '../../../src/hooks/discover.ts'
import type { ResultRow } from '../../../src/machines/results.ts'
import { after } from '../../../src/workers/page/after.ts'
import { type Fact, type HookOfPage, hookOf, type PageState } from '../../../src/workers/page/page-state.ts'
import { plan } from '../../../src/workers/page/plan.ts'
import { recovered } from '../../../src/workers/page/recovered.ts'
import { told } from '../../../src/workers/page/told.ts'
import { claimed, hosted } from '../../support/page-hooks.ts'

const headers = hosted('headers')
const html = hosted('html')
const hashes = { ...hosted('hashes'), readsPublished: true }
const own: Hook = { ...hosted('own'), hosted: false }
const tab: Hook = { ...own, plugin: 'tab', background: true }
const pdftext = { ...hosted('pdftext'), needsFile: true }

/** A page whose work tree is open. */
function open(...hooks: Hook[]): PageState {
  const start = { ...claimed(hooks), mostRetries: 1 }
  const rows = hooks.filter((hook) => !hook.needsFile).map((hook) => rowOf(hook))
  const begun = recovered(start, { rows, logged: new Set(), published: new Set(), begunAt: undefined })
  return after(begun, { what: 'opened' })
}

const rowOf = ({ plugin, name }: Hook, more: Partial<ResultRow> = {}): ResultRow => ({
  ...{ id: plugin, plugin, hook_name: name, attempt: 1, retries: 0, status: 'queued', output_str: '' },
  ...{ has_files: false, end_ts: null, ...more },
})

const since = (state: PageState, ...facts: Fact[]) => facts.reduce(after, state)
const ended = (hook: Hook, event: 'succeed' | 'fail' | 'delay' = 'succeed', output = ''): Fact => ({
  ...{ what: 'ended', hook, end: { event, output }, waitMs: event === 'delay' ? 2_000 : undefined },
})
const stopped = (how: PageState['stop']['how'], isExplained = false): Fact => ({
  ...{ what: 'stop', stop: { how, isExplained } },
})

/** What is planned, with plugins in the place of hooks. */
function planned(state: PageState) {
  const next = plan(state)
  const names = (hooks: readonly { readonly hook: Hook }[]) => hooks.map(({ hook }) => hook.plugin).join(' ')
  switch (next.do) {
    case 'run job':
      return `run job ${names(next.hooks)}${next.ahead ? `, ahead ${names([next.ahead])}` : ''}`
    case 'run':
      return `run ${names([next.hook])}`
    case 'end unrun':
      return next.ends.map(({ one, end }) => `${one.hook.plugin} ${end.event}: ${end.output}`).join('; ')
    case 'repeat':
    case 'adopt':
    case 'add late':
      return `${next.do} ${names(next.hooks)}`
    case 'end background':
      return next.early ? 'end background early' : 'end background'
    case 'release':
      return `release, after ${next.afterMs ?? 'no'} ms${next.counts ? ', counts' : ''}`
    default:
      return next.do
  }
}

const needy = (hooks: PageState): PageState => ({
  ...hooks,
  hooks: hooks.hooks.map((one) => ({ ...one, needsService: true })),
})

describe('what happens next to a page', () => {
  const start = claimed([headers])
  const given = { ...start, whyNot: { kind: 'given up', reason: 'given up: 5 attempts' } } as const
  const late = since(open(headers, pdftext, hashes), ended(headers))
  const waits = since(open(own, html, { ...own, plugin: 'text', requires: ['own'] }), ended(own, 'fail'))
  const second = { ...own, name: 'on_Snapshot__99_own' }
  const set = { ...open(own, second), unable: { own: 'no browser' } }
  const unable = since(set, { what: 'ended unrun', hook: own, end: { event: 'fail', output: 'no browser' } })
  const bg = since(open(tab, own, hashes), { what: 'running', hook: tab })
  it.each<[string, PageState, string]>([
    ['claimed, with somebody at work', { ...start, former: ['a'] }, 'end former'],
    ['claimed', start, 'ask'],
    ['given up', given, 'ask'],
    ['allowed', since(start, { what: 'allowed', putOffMs: undefined }), 'begin'],
    ['without its turn', since(start, { what: 'allowed', putOffMs: 9 }), 'put off'],
    ['of our own hooks alone', open(headers, html, hashes), 'run job headers html, ahead hashes'],
    ['where a user looks into the work tree', since(open(headers, hashes), { what: 'shared' }), 'run job headers'],
    ['with a hook of a user in between', open(headers, own, html), 'run job headers'],
    ['after that', since(open(headers, own, html), ended(headers)), 'run own'],
    ['drained', since(open(headers, html), ended(headers), stopped('drain')), 'release, after no ms'],
    ['drained, with nothing left', since(open(headers), ended(headers), stopped('drain')), 'seal'],
    ['to be left at once', since(open(headers), stopped('abort')), 'leave'],
    ['with nothing left', since(open(headers), ended(headers)), 'seal'],
    ['that is no file', late, 'run job hashes'],
    ['that is a file', since(late, { what: 'file', isThere: true }), 'add late pdftext'],
    ['that is a file, drained', since(late, { what: 'file', isThere: true }, stopped('drain')), 'release, after no ms'],
    ['with a background hook', bg, 'run own'],
    ['with a background hook, and nothing else to run', since(bg, ended(own)), 'end background'],
    [
      'with a background hook, drained before the file is worked on',
      since(open(tab, pdftext), { what: 'running', hook: tab }, { what: 'file', isThere: true }, stopped('drain')),
      'end background early',
    ],
    ['with a background hook, drained', since(bg, stopped('drain')), 'end background early'],
    ['with a hook that is not due and needs one that failed', waits, 'run job html'],
    ['with a hook that is tried again', since(open(own, html), ended(own, 'delay')), 'release, after 2000 ms'],
    [
      'with a hook that needs one that failed',
      since(open(own, hosted('title', 'own')), ended(own, 'fail')),
      'title skip: needs own, which failed',
    ],
    [
      'with plugins that cannot run',
      { ...open(own, hosted('title', 'own')), unable: { own: 'no browser' } },
      'own fail: no browser',
    ],
    ['with another hook of one whose set-up failed', unable, 'own skip: needs own, which failed'],
    [
      'that may not be asked for',
      { ...open(headers, html), whyNot: { kind: 'refused', reason: 'robots.txt forbids it' } },
      'headers fail: robots.txt forbids it; html skip: robots.txt, as headers found',
    ],
    [
      'that may not be asked for now',
      { ...open(headers, html), whyNot: { kind: 'refused for now', reason: 'robots.txt: HTTP 503' } },
      'headers delay: robots.txt: HTTP 503',
    ],
    [
      'that may not be asked for, once its first hook has tried often enough',
      { ...spent(open(headers, html)), whyNot: { kind: 'refused for now', reason: 'robots.txt: HTTP 503' } },
      'headers fail: robots.txt: HTTP 503; html skip: robots.txt, as headers found',
    ],
    [
      'that is given up, in a stop',
      { ...since(open(headers), stopped('drain')), whyNot: { kind: 'given up', reason: 'given up: 5 attempts' } },
      'headers fail: given up: 5 attempts',
    ],
    ['that was cut off', cutOff(stopped('drain')), 'release, after no ms, counts'],
    ['that was cut off by a newer runner', cutOff(stopped('drain', true)), 'release, after no ms'],
    ['with a failure of what needs the browser', since(needy(open(own)), ended(own, 'fail')), 'look at services'],
    ['whose browser is gone', lost(), 'repeat own'],
    [
      'whose browser is gone, once its results are queued',
      since(lost(), { what: 'repeated', hooks: [hookOf(lost(), own) as HookOfPage], files: {} }),
      'release, after 2000 ms, counts',
    ],
  ])('%s', (_what, state, next) => {
    expect(planned(state)).toBe(next)
  })

  function spent({ hooks: [first, ...rest], ...state }: PageState): PageState {
    return { ...state, hooks: [{ ...first!, result: rowOf(first!.hook, { retries: 1 }) }, ...rest] }
  }
  function cutOff(stop: Fact) {
    const end = { event: 'interrupt', output: '' } as const
    return since(open(own), { what: 'ended', hook: own, end }, stop)
  }
  function lost() {
    return since(needy(open(own)), ended(own, 'fail'), { what: 'services', areLost: true })
  }
})

describe('what an earlier worker has left of a page', () => {
  const begunAt = new Date(1_000)
  const logged = new Set([headers, html].map(({ plugin, name }) => `${plugin}.${name}.1`))
  const left = (rows: readonly ResultRow[], ...published: string[]) =>
    recovered(claimed([headers, html, hashes]), { rows, logged, published: new Set(published), begunAt })

  it('is taken from the log up to the first hook that is to run', () => {
    expect(planned(left([rowOf(headers), rowOf(html), rowOf(hashes)]))).toBe('adopt headers html')
    expect(planned(left([rowOf(headers, { attempt: 2 }), rowOf(html), rowOf(hashes)]))).toBe('adopt ')
  })

  it('runs again where its files are gone, with the hashes of all, but not from before a retry', () => {
    const done = { status: 'succeeded', has_files: true, end_ts: new Date(2_000) } as const
    const rows = (end: Partial<ResultRow>) => [rowOf(headers, { ...done, ...end }), rowOf(html), rowOf(hashes, done)]
    expect(planned(left(rows({}), 'hashes'))).toBe('repeat headers hashes')
    expect(planned(left(rows({}), 'headers', 'hashes'))).toBe('repeat hashes')
    expect(planned(left(rows({ end_ts: new Date(500) }), 'hashes'))).toBe('repeat hashes')
  })
})

it('files that are gone are nobody’s output, be it of a hook that is no more', () => {
  const begunAt = new Date(1_000)
  const stray = rowOf(own, { status: 'succeeded', has_files: true, end_ts: new Date(2_000) })
  const rows = [rowOf(headers), stray]
  const state = recovered(claimed([headers]), { rows, logged: new Set(), published: new Set(), begunAt })
  expect(plan(state)).toMatchObject({ do: 'repeat', hooks: [], others: [{ plugin: 'own' }] })
  expect(planned(since(state, { what: 'repeated', hooks: [], files: {} }))).toBe('adopt ')
})

describe('the end of a hook', () => {
  const of = (state: PageState, hook: Hook) => hookOf(state, hook) as HookOfPage
  const late = { event: 'delay', output: 'later' } as const

  it('is temporary as long as it may be tried again', () => {
    const state = open(own)
    expect(told(state, of(state, own), late).event).toBe('delay')
    expect(told({ ...state, mostRetries: 0 }, of(state, own), late).event).toBe('fail')
  })

  it('is none when it lacks what is tried again later', () => {
    const state = since(open(own, html), ended(own, 'delay'))
    const lacks = { event: 'skip', output: 'needs own, which failed' } as const
    expect(told(state, of(state, html), lacks).event).toBe('wait')
  })
})
