import { expect, it } from 'vitest'
import { Log } from '../../src/base/log.ts'
import { Stop } from '../../src/base/stop.ts'
import type { Hook } from '../../src/hooks/discover.ts'
import type { HostedRun } from '../../src/hooks/hook-host.ts'
import type { ResultChange, ResultRow } from '../../src/machines/results.ts'
import type { PageWork } from '../../src/workers/hook-ends.ts'
import type { HookEnd } from '../../src/workers/hook-sequence.ts'
import { SnapshotHooks } from '../../src/workers/snapshot-hooks.ts'
import { tree, useWorkTree } from '../support/work-trees.ts'

useWorkTree()

/** A page's hooks, in a host that is killed at the deadline of the first one; the others end well. */
async function run(hooks: readonly Hook[]) {
  const ran: string[] = []
  const changes: ResultChange[] = []
  const endOf = ({ hook, logs }: HostedRun, isFirst: boolean): HookEnd => {
    ran.push(hook.plugin)
    const exit = isFirst ? { code: null, signal: 'SIGKILL' as const } : { code: 0, signal: null }
    return { hook, exit, cause: isFirst ? 'timeout' : 'exit', logs, processId: 'host', stdout: '', isQuiet: true }
  }
  const sequence = {
    async *row(_scope: unknown, row: readonly HostedRun[]) {
      for (const one of row) yield [endOf(one, ran.length === 0)]
    },
    isRunning: () => false,
    runsBefore: () => false,
    reap: async () => [],
    endBackground: async () => [],
  }
  const results = {
    add: async (change: ResultChange) => void changes.push(change),
    write: async () => {},
    isRunning: () => false,
    isKnown: () => true,
  }
  const page = new SnapshotHooks({
    context: { stop: new Stop(), log: new Log('worker', () => {}) } as unknown as PageWork['context'],
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
    const status = { status: 'queued', output_str: '', attempt: 1, retries: 0, has_files: false } as const
    return { id: String(index), plugin, hook_name: name, ...status }
  })
  await page.run(hooks, rows, new Map(), new Map())
  const ends = changes.map(({ result, event, output }) => [result.plugin, event, output])
  return { ran, ends }
}

function hosted(plugin: string, ...requires: string[]): Hook {
  const kind = { background: false, hosted: true, readsPublished: false, mustReport: false, graceMs: 0 }
  const about = {
    awaitsBackground: false,
    needsFile: false,
    tree: '',
    path: '',
    prefix: undefined,
    binaries: [],
    declares: [],
  }
  return { ...kind, ...about, plugin, name: `on_Snapshot__10_${plugin}`, timeoutMs: 2_000, requires }
}

it('what a lost host leaves is not run when it requires what has failed there', async () => {
  const { ran, ends } = await run([hosted('chrome'), hosted('dom', 'chrome'), hosted('pdf', 'chrome'), hosted('wget')])
  expect(ends).toEqual([
    ['chrome', 'fail', 'timed out after 2 s'],
    ['dom', 'skip', 'needs chrome, which failed'],
    ['pdf', 'skip', 'needs chrome, which failed'],
    ['wget', 'empty', ''],
  ])
  expect(ran).toEqual(['chrome', 'wget'])
})
