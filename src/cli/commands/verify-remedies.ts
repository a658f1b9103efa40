import type { Found } from '../../app/verify/find-problems.ts'
import { ASIDE } from '../../app/verify/mend.ts'

interface Remedy {
  /** What `--mend` would do, and what it has done; none: nothing. */
  readonly would?: string
  readonly mended?: string
  /** What a person can do where we cannot. */
  readonly otherwise: string
}

const BY_HAND: Remedy = { otherwise: 'left as it is: bring it back from a copy, or add its URL again' }

/** What only the hooks that made a file, or a copy, bring back. */
const LOST: readonly Found['problem'][] = ['missing', 'changed', 'unreadable']

const ADOPTED: Remedy = {
  otherwise: 'left as it is: bring it back from the collection it came from, or archive the page anew with add --again',
}

const REMEDIES: Readonly<Record<Found['problem'], Remedy>> = {
  missing: {
    would: 'queues the hooks that made it again, where none of their files is left',
    mended: 'the hooks that made it are queued again',
    otherwise:
      'left as it is: another run of its hook would replace the files that are left; bring it back from a copy',
  },
  'no page': { would: 'writes it again', mended: 'written again', otherwise: 'left as it is' },
  unknown: { would: `moves it to ${ASIDE}/`, mended: `moved to ${ASIDE}/`, otherwise: 'left as it is: known by now' },
  'no package': { otherwise: 'left as it is: export --format wacz --crawl-id makes one of the pages that are there' },
  changed: BY_HAND,
  unreadable: BY_HAND,
}

/** What can be done about a problem. */
export function remedyOf({ problem, page }: Found): Remedy {
  return page?.is_adopted && LOST.includes(problem) ? ADOPTED : REMEDIES[problem]
}
