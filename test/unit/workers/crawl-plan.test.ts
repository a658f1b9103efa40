import { expect, it } from 'vitest'
import { MOST_DUE, type OpenSnapshots } from '../../../src/db/open-snapshots.ts'
import { type CrawlState, planCrawl, STARTED } from '../../../src/workers/crawl/crawl-plan.ts'

const OPEN: OpenSnapshots = {
  ...{ open: true, listed: false, due: 3, claimed: 1, rest_s: 0, elsewhere: null, token: 'ours' },
  drains: false,
}
const DONE: OpenSnapshots = { ...OPEN, open: false, due: 0, claimed: 0 }

/** A crawl that somebody has just looked at. */
const seen = (pages: Partial<OpenSnapshots>, more: Partial<CrawlState> = {}): CrawlState => ({
  ...{ ...STARTED, hasSpace: true, mayBegin: true, ...more },
  pages: { ...OPEN, ...pages },
})
const done = (more: Partial<CrawlState> = {}) => seen(DONE, more)

it.each<[string, CrawlState, string]>([
  ['just started', STARTED, 'look'],
  ['whose browser has ended', seen({}, { services: 'fallen' }), 'serve again'],
  ['with pages', seen({}), 'work, begin 3, wait'],
  ['with many pages', seen({ due: MOST_DUE }), `work, begin ${MOST_DUE}, pace`],
  ['with more in its list', seen({ listed: true, due: MOST_DUE }), `work, begin ${MOST_DUE}, expand`],
  [
    'with more in its list, which rests',
    seen({ listed: true, due: MOST_DUE }, { isListDue: false }),
    `work, begin ${MOST_DUE}, pace`,
  ],
  ['with few pages, whose list rests', seen({ listed: true }, { isListDue: false }), 'work, begin 3, expand'],
  [
    'with more in its list, which rests, where no page may begin',
    seen({ listed: true, due: MOST_DUE }, { isListDue: false, mayBegin: false }),
    'work, begin 0, expand',
  ],
  ['on a full disk', seen({ listed: true }, { hasSpace: false, mayBegin: false }), 'work, begin 0, wait'],
  ['for another runner', seen({}, { mayBegin: false }), 'work, begin 0, wait'],
  ['none of whose pages is for this runner', seen({}, { isInScope: false }), 'release'],
  ['whose pages all wait', seen({ due: 0, claimed: 0, rest_s: 60 }), 'release'],
  ['whose pages wait for a moment', seen({ due: 0, claimed: 0, rest_s: 2 }), 'work, begin 0, wait'],
  ['whose due pages are on another node', seen({ due: 0, claimed: 0, elsewhere: 'other' }), 'release'],
  ['on a node that drains', seen({ due: 0, claimed: 0, listed: true, drains: true }), 'release'],
  ['with pages in work on a node that drains', seen({ due: 0, claimed: 1, drains: true }), 'work, begin 0, wait'],
  ['that is stopped', seen({}, { isStopped: true }), 'release'],
  ['whose pages have ended', done(), 'bundle'],
  ['with one file of them', done({ bundle: 'written' }), 'end services'],
  ['without services', done({ bundle: 'written', services: 'ended' }), 'seal'],
  ['whose pages have ended, in a stop', done({ bundle: 'written', services: 'ended', isStopped: true }), 'seal'],
  ['whose one file was cut short', done({ bundle: 'cut short' }), 'release'],
  ['whose services were killed', done({ bundle: 'written', services: 'killed' }), 'release'],
  ['that is sealed', done({ isSealed: true }), 'rest'],
])('what happens next to a crawl %s', (_what, state, expected) => {
  const next = planCrawl(state)
  const step = next.do === 'work' ? `work, begin ${next.begin}, ${next.meanwhile}` : next.do
  expect(step).toBe(expected)
})
