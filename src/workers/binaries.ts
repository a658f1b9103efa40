import { sleep } from '../base/abort.ts'
import { messageOf } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { findProgram, isExecutable } from '../base/find-program.ts'
import {
  type BinaryRow,
  binariesOf,
  declareBinaries,
  hintBinary,
  lookUpNow,
  loseBinary,
  type NeededBinary,
} from '../db/binaries.ts'
import { kyselySql } from '../db/database.ts'
import type { Home } from '../db/home.ts'
import { Actor } from '../engine/actor.ts'
import { ClaimLost } from '../engine/claimed.ts'
import { withHandlers } from '../engine/handlers.ts'
import { failed } from '../engine/outcome.ts'
import type { Hook, HookSettings } from '../hooks/discover.ts'
import { isOlder, notFound, sha256Of, versionOf } from '../hooks/look-up.ts'
import type { BinaryRecord } from '../hooks/records.ts'
import { needed } from '../hooks/required-binaries.ts'
import { binaryMachine } from '../machines/binary.ts'
import { binaryQueue } from '../machines/queues.ts'
import { excludes } from '../machines/scope.ts'
import { MARKER } from '../processes/family.ts'
import type { Provide } from './providers.ts'
import type { WorkerContext } from './worker-context.ts'

const LOOK_MS = 100

/**
 * Before the hooks of a crawl run, makes sure that every program that their plugins need has a row, and that its path
 * is verified or was looked up just now. A check along PATH is cheap; only programs that it does not find are queued.
 */
export async function prepareBinaries(
  context: WorkerContext,
  hooks: readonly Hook[],
  settings: HookSettings,
  provide: Provide,
  abort: AbortSignal,
): Promise<void> {
  const { home } = context.owner
  const all = new Map<string, NeededBinary>()
  for (const hook of hooks)
    for (const binary of hook.binaries) all.set(needed(binary, settings).name, needed(binary, settings))
  if (excludes(context.scope, 'binary')) return
  await declareBinaries(home.db, home.machineId, [...all.values()])
  const names = [...all.keys()]
  for (const row of await binariesOf(home.db, home.machineId, names)) {
    const found = findProgram(row.name, settings['PATH'])
    if (row.status === 'installed' && (!isExecutable(row.abspath) || (found && found !== row.abspath)))
      await loseBinary(home.db, row)
    else if (row.status === 'queued' && found) await lookUpNow(home.db, row)
  }
  for (;;) {
    await lookUpDue(context, settings, provide, abort)
    // Another worker may be looking one of them up. If it dies, its lease ends and we take over.
    const rows = await binariesOf(home.db, home.machineId, names)
    if (abort.aborted || context.stop.drain.aborted || rows.every((row) => row.claim_token === null)) return
    await sleep(LOOK_MS, abort)
  }
}

/** Looks up every program of this machine that is due, and has missing ones provided by a plugin where possible. */
async function lookUpDue(
  context: WorkerContext,
  settings: HookSettings,
  provide: Provide,
  abort: AbortSignal,
): Promise<void> {
  const { owner, log, runnerId, stop } = context
  const queue = binaryQueue(owner)
  const marks = { [MARKER.process]: owner.processId, [MARKER.runner]: runnerId }
  const inVain = failed(binaryMachine.states.queued.retryAfterMs)
  const handlers = withHandlers<typeof binaryMachine, BinaryRow>(binaryMachine, {
    queued: async (claim, tick) => {
      try {
        const found = await find(claim.row, settings, (row) => provide(row, tick), marks)
        await queue.update(claim, found)
        await failpoint('claim.binary_looked_up')
        return found.message === '' ? 'install' : inVain
      } catch (error) {
        if (error instanceof ClaimLost) throw error
        log.warn(`binary ${claim.row.name}: ${messageOf(error)}`)
        return inVain
      }
    },
  })
  const actor = new Actor({
    ...{ sql: kyselySql(owner.home.db), handlers, queue, by: owner.processId },
    ...{ claimFromTopN: 1, waitForHandlers: true, maxIdleTicks: 0 },
    onTickEnd: async () => await failpoint('claim.binary_settled'),
    onError: (error, claim) => {
      log.warn(`looking for programs: ${messageOf(error)}`)
      if (!claim) throw error
    },
  })
  await actor.run({ signal: stop.drain, force: abort })
}

type Found = Pick<BinaryRow, 'abspath' | 'version' | 'sha256' | 'message'>

async function find(
  row: BinaryRow,
  settings: HookSettings,
  provide: (row: BinaryRow) => Promise<string | undefined>,
  marks: Record<string, string>,
): Promise<Found> {
  const { name, binproviders, min_version } = row
  const missing = (message: string): Found => ({ abspath: '', version: '', sha256: '', message })
  if (name === '' || binproviders === '') return missing('no provider is allowed')
  const providers = binproviders.split(',').map((provider) => provider.trim())
  const there = providers.includes('*') || providers.includes('env') ? findProgram(name, settings['PATH']) : undefined
  const abspath = there ?? (isExecutable(row.abspath) ? row.abspath : await provide(row))
  if (!abspath) return missing(notFound(name, binproviders))
  const version = await versionOf(abspath, {
    PATH: settings['PATH'] ?? '',
    HOME: settings['HOME'] ?? '/',
    LC_ALL: 'C',
    ...marks,
  })
  if (isOlder(version, min_version)) return missing(`${name} ${version} is too old: ${min_version} or newer is needed`)
  return { abspath, version, sha256: await sha256Of(abspath), message: '' }
}

/** Queues the programs that a hook requested or found; the next crawl that starts looks them up. */
export async function queueBinaries(context: WorkerContext, records: readonly BinaryRecord[]): Promise<void> {
  if (records.length === 0 || excludes(context.scope, 'binary')) return
  const { db, machineId } = context.owner.home
  await declareBinaries(db, machineId, records)
  for (const { name, abspath } of records) if (abspath !== '') await hintBinary(db, machineId, name, abspath)
}

/** The programs that the hooks of one target may use. */
export interface ResolvedBinaries {
  /** `<NAME>_BINARY`: the path of each program. */
  readonly settings: Readonly<Record<string, string>>
  /** Plugins that cannot run, with the reason. */
  readonly missing: ReadonlyMap<string, string>
}

export async function resolvedBinaries(
  { db, machineId }: Home,
  hooks: readonly Hook[],
  settings: HookSettings,
): Promise<ResolvedBinaries> {
  const missing = new Map<string, string>()
  const paths: Record<string, string> = {}
  const required = hooks.filter(({ binaries }) => binaries.length > 0)
  const rows = required.length === 0 ? [] : await binariesOf(db, machineId)
  for (const { plugin, binaries } of required) {
    for (const binary of binaries) {
      const row = rows.find(({ name }) => name === needed(binary, settings).name)
      if (row?.status === 'installed' && binary.setting) paths[binary.setting] = row.abspath
      if (row?.status === 'queued' && row.message !== '') missing.set(plugin, row.message)
    }
  }
  return { settings: paths, missing }
}
