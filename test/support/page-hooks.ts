import { join } from 'node:path'
import { HOSTED_LOG } from '../../src/base/attempt-paths.ts'
import { Log } from '../../src/base/log.ts'
import { readRowLog } from '../../src/base/row-log.ts'
import { Stop } from '../../src/base/stop.ts'
import type { Hook } from '../../src/hooks/discover.ts'
import type { HookJob } from '../../src/hooks/hook-job.ts'
import { type HostedRun, isOfNow } from '../../src/hooks/hosted-ends.ts'
import type { ResultChange, ResultRow } from '../../src/machines/results.ts'
import { after } from '../../src/workers/page/after.ts'
import { carryOut } from '../../src/workers/page/carry-out.ts'
import { Findings } from '../../src/workers/page/findings.ts'
import type { PageInWork } from '../../src/workers/page/page-in-work.ts'
import type { PageState } from '../../src/workers/page/page-state.ts'
import { type PageStep, plan } from '../../src/workers/page/plan.ts'
import { recovered } from '../../src/workers/page/recovered.ts'
import type { HookEnd } from '../../src/workers/sequence/hook-end.ts'
import { tree } from './work-trees.ts'

interface Around {
  /** Whether the host is killed at the deadline of the first hook. */
  readonly losesHost?: boolean
  /** Plugins that cannot run. */
  readonly missing?: readonly string[]
  /** The attempts that the hooks belong to. */
  readonly attempt?: number
}

const WAYS = ['put off', 'release', 'leave', 'seal']
const FINE = { code: 0, signal: null }

/**
 * Runs a page's hooks; all succeed unless the host is lost. A background hook has started already.
 * @returns which ran, how each ended, whose ends were written before anything was published after them, and in which
 *   order results were written and background hooks ended
 */
export async function runHooks(hooks: readonly Hook[], { losesHost = false, missing = [], attempt = 1 }: Around = {}) {
  const ran: string[] = []
  const steps: string[] = []
  const changes: ResultChange[] = []
  const untold: string[] = []
  const endOf = ({ hook, logs }: HostedRun, isFirst: boolean): HookEnd => {
    ran.push(hook.plugin)
    const exit = isFirst ? { code: null, signal: 'SIGKILL' as const } : FINE
    return { hook, exit, cause: isFirst ? 'timeout' : 'exit', logs, processId: 'host', stdout: '', said: '' }
  }
  const sequence = {
    async *job({ runs }: HookJob) {
      for (const one of runs) yield [endOf(one, losesHost && ran.length === 0)]
    },
    background: {
      reap: async () => [],
      async *end() {
        steps.push('end background')
        const logs = { stdout: join(tree.root, 'stdout.log'), stderr: join(tree.root, 'stderr.log') }
        for (const hook of hooks)
          if (hook.background) yield { hook, exit: FINE, cause: 'asked', logs, processId: 'hook', stdout: '' }
      },
    },
  }
  const results = {
    add: async (change: ResultChange, isTold = false) => {
      changes.push(change)
      if (!isTold) untold.push(change.result.plugin)
    },
    write: async () => void steps.push('write'),
    interrupt: async () => {},
    isKnown: () => true,
  }
  const page = {
    context: {
      stop: new Stop(),
      log: new Log('worker', () => {}),
      owner: { processId: 'worker', home: {} },
      settings: { config: {} },
    },
    claim: { id: 'page', attempts: 1, row: { url: 'http://a.example/' } },
    tick: { signal: new AbortController().signal },
    retries: { most: 0, waitMs: () => 0 },
    findings: new Findings(),
    ...{ sequence, tree, results, scope: {}, settings: {} },
  } as unknown as PageInWork
  const rows = hooks.map(({ plugin, name }, index): ResultRow => {
    const status = { status: 'queued', output_str: '', retries: 0, has_files: false, end_ts: null } as const
    return { id: String(index), plugin, hook_name: name, attempt, ...status }
  })
  const ended = [...readRowLog(join(tree.root, HOSTED_LOG))].filter(([, end]) => isOfNow(end))
  const logged = new Set(tree.hasLeftovers ? ended.map(([name]) => name) : [])
  let state = recovered(claimed(hooks, missing), { rows, logged, published: new Set(), begunAt: undefined })
  for (const hook of hooks) if (hook.background) state = after(state, { what: 'running', hook })
  for (let next = plan(state); !WAYS.includes(next.do); next = plan(state))
    state = await carryOut(page, state, next as PageStep)
  const ends = changes.map(({ result, event, output }) => [result.plugin, event, output])
  return { ran, ends, untold, steps }
}

/** A page just after its claim, before any work on it. */
export function claimed(hooks: readonly Hook[], missing: readonly string[] = []): PageState {
  return {
    stage: 'claimed',
    former: [],
    hooks: hooks.map((hook) => {
      const lacks = missing.includes(hook.plugin) ? 'it is missing' : undefined
      return { hook, at: hook.needsFile ? 'late' : 'open', lacks, needsService: false }
    }),
    ...{ unable: {}, serving: [], mostRetries: 0, hidden: {}, gone: [], service: 'well' },
    ...{ isShared: false, isFile: false, hasProgressed: false, wasCutOff: false },
    stop: { how: 'none', isExplained: false },
  }
}

/** A built-in hook that requires these plugins. */
export function hosted(plugin: string, ...requires: string[]): Hook {
  const kind = { background: false, isNamed: false, hosted: true, readsPublished: false, mustReport: false, graceMs: 0 }
  const about = { awaitsBackground: false, needsFile: false, tree: '', around: '{}', path: '', prefix: undefined }
  const asks = { asksOnly: false, file: false, binaries: [], declares: [] }
  return { ...kind, ...about, ...asks, plugin, name: `on_Snapshot__10_${plugin}`, timeoutMs: 2_000, requires }
}
