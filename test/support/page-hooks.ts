import { Log } from '../../src/base/log.ts'
import { Stop } from '../../src/base/stop.ts'
import type { Hook } from '../../src/hooks/discover.ts'
import type { HostedRun } from '../../src/hooks/hosted-ends.ts'
import type { ResultChange, ResultRow } from '../../src/machines/results.ts'
import type { PageWork } from '../../src/workers/page/hook-ends.ts'
import { SnapshotHooks } from '../../src/workers/page/snapshot-hooks.ts'
import type { HookEnd } from '../../src/workers/sequence/hook-sequence.ts'
import { tree } from './work-trees.ts'

interface Around {
  /** The host is killed at the deadline of the first hook. */
  readonly losesHost?: boolean
  /** Something runs in the background. */
  readonly hasBackground?: boolean
  /** Plugins that cannot run. */
  readonly missing?: readonly string[]
  /** Of which attempts the hooks are. */
  readonly attempt?: number
}

/**
 * Runs a page's hooks; all end well unless the host is lost.
 * @returns which ran, how each ended, whose ends were written before anything was published after them, and in which
 *   order results were written and background hooks ended
 */
export async function runHooks(
  hooks: readonly Hook[],
  { losesHost = false, hasBackground = false, missing = [], attempt = 1 }: Around = {},
) {
  const ran: string[] = []
  const steps: string[] = []
  const changes: ResultChange[] = []
  const untold: string[] = []
  const endOf = ({ hook, logs }: HostedRun, isFirst: boolean): HookEnd => {
    ran.push(hook.plugin)
    const exit = isFirst ? { code: null, signal: 'SIGKILL' as const } : { code: 0, signal: null }
    return { hook, exit, cause: isFirst ? 'timeout' : 'exit', logs, processId: 'host', stdout: '', isQuiet: true }
  }
  const sequence = {
    async *row(_scope: unknown, _log: string, row: readonly HostedRun[]) {
      for (const one of row) yield [endOf(one, losesHost && ran.length === 0)]
    },
    isRunning: () => false,
    runsBefore: () => false,
    hasBackground,
    reap: async () => [],
    async *endBackground() {
      steps.push('end background')
      yield* [] // None was there.
    },
  }
  const results = {
    add: async (change: ResultChange, isTold = false) => {
      changes.push(change)
      if (!isTold) untold.push(change.result.plugin)
    },
    write: async () => void steps.push('write'),
    isRunning: () => false,
    isKnown: () => true,
  }
  const page = new SnapshotHooks({
    context: {
      stop: new Stop(),
      log: new Log('worker', () => {}),
      owner: { processId: 'worker' },
    } as unknown as PageWork['context'],
    sequence: sequence as unknown as PageWork['sequence'],
    claim: { id: 'page', attempts: 1, row: { url: 'http://a.example/' } } as unknown as PageWork['claim'],
    tree,
    results: results as unknown as PageWork['results'],
    scope: { settings: {} } as unknown as PageWork['scope'],
    abort: new AbortController().signal,
    repeated: { results: new Set(), files: new Map() },
    services: { areNeededBy: () => false } as unknown as PageWork['services'],
  })
  const rows = hooks.map(({ plugin, name }, index): ResultRow => {
    const status = { status: 'queued', output_str: '', retries: 0, has_files: false, end_ts: null } as const
    return { id: String(index), plugin, hook_name: name, attempt, ...status }
  })
  await page.run(hooks, rows, new Map(missing.map((plugin) => [plugin, 'it is missing'])), new Map())
  const ends = changes.map(({ result, event, output }) => [result.plugin, event, output])
  return { ran, ends, untold, steps }
}

/** A hook of ours that requires these plugins. */
export function hosted(plugin: string, ...requires: string[]): Hook {
  const kind = { background: false, isNamed: false, hosted: true, readsPublished: false, mustReport: false, graceMs: 0 }
  const about = { awaitsBackground: false, needsFile: false, tree: '', path: '', prefix: undefined }
  const asks = { binaries: [], declares: [] }
  return { ...kind, ...about, ...asks, plugin, name: `on_Snapshot__10_${plugin}`, timeoutMs: 2_000, requires }
}
