import type { Mutant } from './mutant.ts'

/** Mechanisms of src/machines. */
export const MACHINES: readonly Mutant[] = [
  {
    name: 'claims are not fenced by the term',
    file: 'src/machines/queues.ts',
    find: ' and term = $',
    replacement: ' and 0 < $',
    test: 'test/crash/runner/fencing.test.ts',
    only: 'fences claims',
  },
  {
    name: 'one who has lost a crawl starts it',
    file: 'src/machines/start-crawl.ts',
    find: 'const { id, token, row } = claim',
    replacement: 'const { id, row, token = sql`work.claim_token` } = { ...claim, token: undefined }',
    test: 'test/integration/machines/crawl-ends.test.ts',
    only: 'was taken over',
  },
  {
    name: 'a crawl whose start was not answered counts as taken away',
    file: 'src/machines/start-crawl.ts',
    find: 'rows.length > 0 || (again && (await queue.hasMoved(claim, to)))',
    replacement: 'rows.length > 0',
    test: 'test/crash/db/database-commit.test.ts',
    only: 'the start of a crawl',
  },
  {
    name: 'a lease is renewed in words only',
    file: 'src/machines/queues.ts',
    find: 'await super.renew(claims, leaseSeconds)',
    replacement: 'new Set(claims.map(({ id }) => id))',
    test: 'test/integration/engine/lease-renewal.test.ts',
    only: 'have it renewed',
  },
  {
    name: 'a claim looks at all that is queued',
    file: 'src/machines/queues.ts',
    find: '`work.crawl_id = (select id from crawl where claimed_by = $${first} limit 1)`',
    replacement: '`work.crawl_id in (select id from crawl where claimed_by = $${first})`',
    test: 'test/integration/house/plans.test.ts',
    only: 'with statistics',
  },
  {
    name: 'results are written in any term',
    file: 'src/machines/queues.ts',
    find: 'term}`))})`',
    replacement: 'term} or true`))})`',
    test: 'test/crash/hooks/hooks-in-a-row.test.ts',
    only: 'writes no result',
  },
  {
    name: 'a write of results that is repeated counts what was there before',
    file: 'src/machines/results.ts',
    find: ' and r.id = e.id and r.status = e.to_status`',
    replacement: ' and r.id = e.id`',
    test: 'test/crash/db/database-commit.test.ts',
    only: 'what was not done is done then',
  },
]
