import type { Mutant } from './mutant.ts'

/** Mechanisms of src/workers. */
export const WORKERS: readonly Mutant[] = [
  {
    name: 'the dead hold what they claimed',
    file: 'src/workers/reap.ts',
    find: 'const requeued = await requeueClaimsOf(tx, ids)',
    replacement: 'const requeued = 0',
    test: 'test/crash/kill.test.ts',
    only: 'of one process after another',
  },
  {
    name: 'hooks that ended with their worker run again',
    file: 'src/workers/snapshot-hooks.ts',
    find: 'this.#work.tree.hasLeftovers ? await this.#adopt(all, results, log) : []',
    replacement: '[]',
    test: 'test/crash/hooks-in-a-row.test.ts',
    only: 'none of them runs again',
  },
  {
    name: 'nothing runs again with an interrupted background hook',
    file: 'src/workers/runs-again.ts',
    find: 'for (let before = -1; before < again.size; ) {',
    replacement: 'for (let before = 0; before < again.size; ) {',
    test: 'test/crash/browser.test.ts',
    only: 'ends as any other',
  },
  {
    name: 'a browser that died below its launcher counts as there',
    file: 'src/workers/crawl-services.ts',
    find: 'Math.min(2, ',
    replacement: 'Math.min(1, ',
    test: 'test/crash/browser.test.ts',
    only: 'ends as any other',
  },
  {
    name: 'a hook that lacks memory is not run alone',
    file: 'src/workers/hook-sequence.ts',
    find: "cause === 'exit' && exit.signal === 'SIGABRT'",
    replacement: "cause === 'exit' && exit.signal === 'SIGUSR2'",
    test: 'test/crash/hooks-in-a-row.test.ts',
    only: 'runs again, alone',
  },
  {
    name: 'a page is sealed whether or not its results are there',
    file: 'src/workers/seal-snapshot.ts',
    find: 'written, ALL_ENDED)',
    replacement: 'written)',
    test: 'test/crash/hooks-in-a-row.test.ts',
    only: ': the hooks run again',
  },
  {
    name: 'a crawl goes on beyond its --max-size',
    file: 'src/workers/archive-snapshot.ts',
    find: "const isBeyond = claim.state === 'queued' &&",
    replacement: "const isBeyond = claim.state === 'started' &&",
    test: 'test/integration/add-lists.test.ts',
    only: 'of bytes ends a crawl',
  },
  {
    name: 'files of an earlier attempt at a page of a collection stay',
    file: 'src/workers/take-files.ts',
    find: 'await rm(to, { recursive: true, force: true })\n  const folders',
    replacement: 'const folders',
    test: 'test/integration/from-archivebox.test.ts',
    only: 'comes with titles, tags, dates, results and files',
  },
]
