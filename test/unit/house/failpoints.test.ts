import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { FAILPOINTS } from '../../../src/base/failpoint.ts'
import { ROOT } from '../../support/program.ts'

/**
 * The files that claim, spawn, publish, reap, shut down and pass the lead on: where a crash between two lines must cost
 * nothing.
 */
const STEP_FILES = [
  'hooks/announced.ts',
  'hooks/launch.ts',
  'hooks/publication.ts',
  'hooks/terminate.ts',
  'hooks/warm-process.ts',
  'hooks/work-tree.ts',
  'runner/evict-older.ts',
  'runner/gate.ts',
  'runner/heartbeat.ts',
  'runner/lead.ts',
  'runner/promote.ts',
  'runner/register.ts',
  'runner/reap-older.ts',
  'runner/resign.ts',
  'runner/run.ts',
  'runner/shut-down.ts',
  'workers/sequence/binaries.ts',
  'workers/crawl/crawl-ends.ts',
  'workers/crawl/expand-list.ts',
  'workers/page/carry-out.ts',
  'workers/page/end-round.ts',
  'workers/sequence/background-hooks.ts',
  'workers/sequence/hook-sequence.ts',
  'workers/index/index-pages.ts',
  'workers/index/publish-file.ts',
  'workers/page/page-results.ts',
  'workers/supervise/reap.ts',
  'workers/crawl/run-crawl.ts',
  'workers/page/seal-snapshot.ts',
  'workers/page/settle.ts',
  'workers/page/snapshot-worker.ts',
  'workers/supervise/worker-actor.ts',
  'workers/supervise/worker-pool.ts',
]
/**
 * Calls that change a row, a file or another process. In a transaction the commit is the step, in a page that is
 * written its file (`publish-file.ts`), and a renewal has its failpoint inside (`machines/queues.ts`).
 */
const STEPS = [
  'announce',
  'finishPage',
  'forgetStarted',
  'heartbeat',
  'insertSnapshots',
  'insertStarting',
  'killFamily',
  'killLeftovers',
  'markDraining',
  'markEnded',
  'markRunning',
  'prepareResults',
  'promote',
  'renameSync',
  'requestHandoff',
  'requeueClaimsOf',
  'spawn',
  'spawnToFiles',
  'terminateBackendsOf',
  'writeResults',
  'writeSnapshotPages',
  String.raw`queue\.(?:on\(\S+\)\.)?(?:move|next|release)`,
]
/** Steps that are no whole one, or that others account for, with the reason. */
const EXCEPT: Readonly<Record<string, string>> = {
  'hooks/announced.ts insertStarting': 'inside announce, which is the step',
  'hooks/announced.ts spawn': 'inside spawnToFiles, which is the step',
  'workers/page/seal-snapshot.ts finishPage': 'inside addFindings, which is the step',
  'workers/page/page-results.ts writeResults': 'inside writeWith, which is the step',
  'workers/index/index-pages.ts writeSnapshotPages':
    'a page that is there is written again: publish-file.ts has its steps',
  'runner/promote.ts requeueClaimsOf': 'inside the transaction of the promotion, which is the step',
}

const src = join(ROOT, 'src')
const files = globSync('**/*.ts', { cwd: src })

/** The steps of a file between which and the next step, or the end of their function, no failpoint stands. */
function bareSteps(file: string): string[] {
  const code = readFileSync(join(src, file), 'utf8')
  const step = new RegExp(String.raw`(?<!function |[\w.'])(${STEPS.join('|')})\(`, 'g')
  return [...code.matchAll(step)].flatMap((call) => {
    if (code.startsWith('tx,', call.index + call[0].length) || call[0].includes('.on(')) return []
    const rest = code.slice(endOfCall(code, call.index + call[0].length))
    const next = Math.min(
      ...[step, /^(?: {2})?\}$/m].map(
        (end) => new RegExp(end, end.flags.replace('g', '')).exec(rest)?.index ?? rest.length,
      ),
    )
    return rest.slice(0, next).includes("failpoint('") || `${file} ${call[1]}` in EXCEPT ? [] : [`${file} ${call[1]}`]
  })
}

function endOfCall(code: string, from: number): number {
  for (let at = from, depth = 1; at < code.length; at += 1) {
    if (code[at] === '(') depth += 1
    if (code[at] === ')') depth -= 1
    if (depth === 0) return at + 1
  }
  return code.length
}

describe('failpoints', () => {
  it('are listed in order, and each stands at exactly one place', () => {
    const used = files
      .filter((file) => file !== 'base/failpoint.ts')
      .flatMap((file) =>
        [...readFileSync(join(src, file), 'utf8').matchAll(/await failpoint\('([^']+)'\)/g)].map(([, name]) => name),
      )
    expect(used.toSorted()).toEqual([...FAILPOINTS])
    expect([...FAILPOINTS]).toEqual([...new Set(FAILPOINTS)].toSorted())
  })

  it('follow every step of a claim, a spawn, a publication, a takeover and a shutdown', () => {
    expect(STEP_FILES.flatMap((file) => bareSteps(file))).toEqual([])
  })
})
