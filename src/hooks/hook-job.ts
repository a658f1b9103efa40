import { dirname } from 'node:path'
import { forAccount } from './account-environment.ts'
import { extraContext, hookEnvironment } from './environment.ts'
import { giveFile } from './hand-over.ts'
import type { HostJob } from './host-protocol.ts'
import { type HostedRun, nameOf } from './hosted-ends.ts'
import type { HookScope } from './launch.ts'

/** Hooks that the host runs one after another. */
export interface HookJob {
  readonly scope: HookScope
  /** The file for their output. */
  readonly log: string
  readonly runs: readonly HostedRun[]
}

/** A job in the form that is sent to a process of the host. */
export function sentAs({ scope, log, runs }: HookJob, processId: string): HostJob {
  const { runnerId, parentId: workerId, settings, target } = scope
  const { account } = scope.containment
  const all = runs.map(({ hook }) => hook)
  const { EXTRA_CONTEXT: _, ...own } = hookEnvironment(settings, target, all, { processId, workerId, runnerId })
  if (account) giveFile(log, account)
  const hooks = runs.map((run) => ({
    path: run.hook.path,
    outputDir: run.outputDir,
    flush: run.isMoved,
    env: {
      EXTRA_CONTEXT: extraContext(target, run.hook),
      ...(run.isAhead && { ARCHIVEBOX_PUBLISHED_DIR: dirname(run.outputDir) }),
    },
    name: nameOf(run),
    timeoutMs: run.hook.timeoutMs,
  }))
  return { url: target.url, env: account ? forAccount(own, account, true) : own, log, hooks }
}
