import { existsSync } from 'node:fs'
import { sleep } from '../../base/abort.ts'
import { messageOf } from '../../base/errors.ts'
import { failpoint } from '../../base/failpoint.ts'
import { trust } from '../../base/trusted-settings.ts'
import { type BinaryRow, binariesOf, binariesToCheck, declareBinaries } from '../../db/binaries.ts'
import { kyselySql } from '../../db/database.ts'
import { Actor } from '../../engine/actor.ts'
import { ClaimLost } from '../../engine/claimed.ts'
import { withHandlers } from '../../engine/handlers.ts'
import { failed } from '../../engine/outcome.ts'
import { ownPlaces } from '../../hooks/account-environment.ts'
import type { Hook, HookSettings } from '../../hooks/discover.ts'
import type { BinaryRecord } from '../../hooks/records.ts'
import { isOlder } from '../../hooks/upstream/look-up.ts'
import { needed } from '../../hooks/upstream/required-binaries.ts'
import { mayBeModule, searchFiles, type Wanted, wantedBy } from '../../hooks/upstream/search.ts'
import { binaryMachine } from '../../machines/binary.ts'
import { hintBinary, lookUpNow, loseBinary } from '../../machines/look-up-again.ts'
import { binaryQueue } from '../../machines/queues.ts'
import { excludes } from '../../machines/scope.ts'
import { MARKER } from '../../processes/marks.ts'
import type { WorkerContext } from '../supervise/worker-context.ts'
import { findBinary } from './find-binary.ts'
import { isFoundHere, placeNote, requestNote } from './noted-binaries.ts'
import type { Provide } from './providers.ts'

const LOOK_MS = 100
/** How many programs are looked up at once: each is asked for its version, which takes up to a second. */
const AT_ONCE = 4

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
  if (excludes(context.scope, 'binary')) return
  const all = Map.groupBy(wantedBy(hooks, settings), ({ name }) => name)
  await declareBinaries(
    home.db,
    home.machineId,
    [...all.values()].map(([first]) => needed(first!.binary, settings)),
  )
  const names = [...all.keys()]
  const { rows: known, areAnyDue } = await binariesToCheck(home.db, home.machineId, names)
  let isLookedFor = areAnyDue
  for (const row of known) {
    const wanted = all.get(row.name)!
    const found = wanted.map((one) => searchFiles(one, settings)).find((one) => one !== undefined)?.abspath
    const isOutdated = wanted.some(({ binary }) => isOlder(row.version, binary.minVersion))
    const isFound = isFoundHere(home.dataDir, row) && existsSync(row.abspath)
    const isLost = !isFound || (found && found !== row.abspath) || isOutdated
    const mayBeThere = found || wanted.some(mayBeModule)
    if (row.status === 'installed' ? !isLost : !mayBeThere) continue
    isLookedFor = true
    await (row.status === 'installed' ? loseBinary : lookUpNow)(home.db, row)
  }
  while (isLookedFor) {
    await lookUpDue(context, all, settings, provide, abort)
    // Another worker may be looking one of them up. If it dies, its lease ends and we take over.
    const rows = await binariesOf(home.db, home.machineId, names)
    if (abort.aborted || context.stop.drain.aborted || rows.every((row) => row.claim_token === null)) return
    await sleep(LOOK_MS, abort)
  }
}

/** Looks up every program of this machine that is due, and has missing ones provided by a plugin where possible. */
async function lookUpDue(
  context: WorkerContext,
  all: ReadonlyMap<string, readonly Wanted[]>,
  settings: HookSettings,
  provide: Provide,
  abort: AbortSignal,
): Promise<void> {
  const { owner, log, runnerId, stop, containment } = context
  const queue = binaryQueue(owner)
  const { account } = containment
  const env = {
    ...{ PATH: settings['PATH'] ?? '', HOME: settings['HOME'] ?? '/', LC_ALL: 'C' },
    ...(account && ownPlaces(account)),
    ...{ [MARKER.process]: owner.processId, [MARKER.runner]: runnerId },
  }
  // A hook may have named it: it is run like a hook.
  const as = { env, become: account }
  const inVain = failed(binaryMachine.states.queued.retryAfterMs)
  const handlers = withHandlers<typeof binaryMachine, BinaryRow>(binaryMachine, {
    queued: async (claim, tick) => {
      try {
        const { dataDir } = owner.home
        const found = await findBinary(dataDir, claim.row, all.get(claim.row.name) ?? [], settings, provide, tick, as)
        if (found.abspath !== '') trust(dataDir, [placeNote(claim.row.name, found.abspath)])
        await queue.update(claim, found)
        await failpoint('claim.binary_looked_up')
        return found.abspath === '' ? inVain : 'install'
      } catch (error) {
        if (error instanceof ClaimLost) throw error
        log.warn(`binary ${claim.row.name}: ${messageOf(error)}`)
        return inVain
      }
    },
  })
  const running: Promise<void>[] = []
  // Most often there is nothing to look up: each starts another one only when it has found something.
  const startAnother = () => {
    if (running.length === AT_ONCE) return
    const actor = new Actor({
      ...{ sql: kyselySql(owner.home.db), handlers, queue, by: owner.processId },
      ...{ claimFromTopN: 1, waitForHandlers: true, maxIdleTicks: 0 },
      onTickStart: startAnother,
      onTickEnd: async () => await failpoint('claim.binary_settled'),
      onError: (error, claim) => {
        log.warn(`looking for programs: ${messageOf(error)}`)
        if (!claim) throw error
      },
    })
    const run = actor.run({ signal: stop.drain, force: abort })
    run.catch(() => {}) // It is awaited below.
    running.push(run)
  }
  startAnother()
  for (const run of running) await run
}

/** Queues the programs that a hook requested or found; the next crawl that starts looks them up. */
export async function queueBinaries(context: WorkerContext, records: readonly BinaryRecord[]): Promise<void> {
  if (records.length === 0 || excludes(context.scope, 'binary')) return
  const { db, machineId, dataDir } = context.owner.home
  const places = records.filter(({ abspath }) => abspath !== '')
  trust(dataDir, [...records.map(requestNote), ...places.map(({ name, abspath }) => placeNote(name, abspath))])
  await declareBinaries(db, machineId, records)
  for (const { name, abspath } of places) await hintBinary(db, machineId, name, abspath)
}
