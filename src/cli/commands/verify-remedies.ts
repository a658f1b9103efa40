import type { Found } from '../../app/verify/find-problems.ts'
import { ASIDE } from '../../app/verify/mend.ts'

interface Remedy {
  /** What `--mend` would do, and what it has done; undefined: nothing. */
  readonly would?: string
  readonly mended?: string
  /** What a person can do where we cannot. */
  readonly otherwise: string
}

const BY_HAND: Remedy = { otherwise: 'left unchanged: restore it from a copy, or add its URL again' }

/** Problems that only the hooks which made the file, or a copy, can repair. */
const LOST: readonly Found['problem'][] = ['missing', 'changed', 'unreadable']

const ADOPTED: Remedy = {
  otherwise: 'left unchanged: restore it from the collection it came from, or archive the page anew with add --again',
}

const REMEDIES: Readonly<Record<Found['problem'], Remedy>> = {
  missing: {
    would: 'queues the hooks that made it again, if none of their files is left',
    mended: 'the hooks that made it are queued again',
    otherwise: 'left unchanged: another run of its hook would replace the remaining files; restore it from a copy',
  },
  'no page': { would: 'writes it again', mended: 'written again', otherwise: 'left unchanged' },
  unknown: {
    would: `moves it to ${ASIDE}/`,
    mended: `moved to ${ASIDE}/`,
    otherwise: 'left as it is: it has a row now',
  },
  'no package': { otherwise: 'left unchanged: export --format wacz --crawl-id packs the pages that are there' },
  'left behind': {
    would: 'removes it, if that node has archived the page',
    mended: 'removed',
    otherwise: 'left unchanged: that node has not archived the page, or is lost',
  },
  changed: BY_HAND,
  unreadable: BY_HAND,
}

/** What can be done about a problem. */
export function remedyOf({ problem, page }: Found): Remedy {
  return page?.is_adopted && LOST.includes(problem) ? ADOPTED : REMEDIES[problem]
}
