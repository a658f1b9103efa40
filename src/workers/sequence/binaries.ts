import { existsSync } from 'node:fs'
import { sleep } from '../../base/abort.ts'
import { messageOf } from '../../base/errors.ts'
import { failpoint } from '../../base/failpoint.ts'
import { isExecutable } from '../../base/find-program.ts'
import { put } from '../../base/own.ts'
import { isTrusted, trust } from '../../base/trusted-settings.ts'
import { type BinaryRow, binariesOf, binariesToCheck, declareBinaries, type NeededBinary } from '../../db/binaries.ts'
import { kyselySql } from '../../db/database.ts'
import type { Home } from '../../db/home.ts'
import { Actor } from '../../engine/actor.ts'
import { ClaimLost } from '../../engine/claimed.ts'
import { type Context, withHandlers } from '../../engine/handlers.ts'
import { failed } from '../../engine/outcome.ts'
import { ownPlaces } from '../../hooks/account-environment.ts'
import type { AskedAs } from '../../hooks/ask-program.ts'
import type { Hook, HookSettings } from '../../hooks/discover.ts'
import { isOlder, notFound, sha256Of, tooOld, versionOf } from '../../hooks/look-up.ts'
import type { BinaryRecord } from '../../hooks/records.ts'
import { needed } from '../../hooks/required-binaries.ts'
import {
  isSearchable,
  mayBeModule,
  providersOf,
  searchByAsking,
  searchFiles,
  searchPaths,
  type Wanted,
  wantedBy,
} from '../../hooks/search.ts'
import { binaryMachine } from '../../machines/binary.ts'
import { hintBinary, lookUpNow, loseBinary } from '../../machines/look-up-again.ts'
import { binaryQueue } from '../../machines/queues.ts'
import { excludes } from '../../machines/scope.ts'
import { MARKER } from '../../processes/family.ts'
import type { WorkerContext } from '../supervise/worker-context.ts'
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
  // A hook may have named it: it is run as hooks are.
  const as = { env, become: account?.argv ?? [] }
  const inVain = failed(binaryMachine.states.queued.retryAfterMs)
  const handlers = withHandlers<typeof binaryMachine, BinaryRow>(binaryMachine, {
    queued: async (claim, tick) => {
      try {
        const { dataDir } = owner.home
        const found = await find(dataDir, claim.row, all.get(claim.row.name) ?? [], settings, provide, tick, as)
        if (found.abspath !== '') trust(dataDir, [placeOf(claim.row.name, found.abspath)])
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
  // Most often there is nothing to look up: each starts another one when it has found something.
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

/** Where something lies; its version where that is known without running it. */
type Place = NonNullable<ReturnType<typeof searchFiles>>
type Found = Pick<BinaryRow, 'abspath' | 'version' | 'sha256' | 'message'>

/** @param required the requirements of this name; none when a hook asked for it */
async function find(
  dataDir: string,
  row: BinaryRow,
  required: readonly Wanted[],
  settings: HookSettings,
  provide: Provide,
  tick: Context,
  as: AskedAs,
): Promise<Found> {
  const { name, min_version } = row
  const isAsked = isTrusted(dataDir, ...requestOf({ ...row, minVersion: min_version }))
  const allowed = new Set(required.flatMap(({ binary }) => binary.binproviders.split(',')))
  // Its row says by whom it may be installed, and whoever wrote that may be a stranger.
  const binproviders = required.length === 0 ? row.binproviders : [...allowed].join()
  const missing = (message: string): Found => ({ abspath: '', version: '', sha256: '', message })
  if (name === '' || binproviders === '') return missing('no provider is allowed')
  if (required.length === 0 && !isAsked) return missing('no plugin here has asked for it')
  const asked = { setting: undefined, name, binproviders, minVersion: min_version, rules: {} }
  const wanted = required.length > 0 ? required : [{ binary: asked, name, plugin: '', tree: '' }]
  const minimums = wanted.map(({ binary }) => binary.minVersion).sort((a, b) => (isOlder(a || '0', b || '0') ? -1 : 1))
  const look = async (abspath: string, version?: string) => ({
    abspath,
    version: version ?? (isExecutable(abspath) ? await versionOf(abspath, as) : ''),
  })
  const hint = isFoundHere(dataDir, row) ? row.abspath : ''
  const there = await search(wanted, hint, settings, as)
  const found = there && (await look(there.abspath, there.version))
  const suffices = found && !isOlder(found.version, minimums.at(-1)!)
  const provided = suffices ? undefined : await provide.ask({ ...row, binproviders }, tick)
  const best = provided === undefined ? found : await look(provided)
  if (!best) {
    const isCertain = wanted.every(({ binary }) =>
      providersOf(binary.binproviders).every((one) => isSearchable(one) || provide.serves(one)),
    )
    return missing(isCertain ? notFound(wanted[0]!) : '')
  }
  if (isOlder(best.version, minimums[0]!)) return missing(tooOld(name, best.version, minimums[0]!))
  return { ...best, sha256: await sha256Of(best.abspath), message: '' }
}

/** Where a requirement is: in a place of its providers, where a hook said, or where those know who are asked. */
async function search(
  wanted: readonly Wanted[],
  hint: string,
  settings: HookSettings,
  as: AskedAs,
): Promise<Place | undefined> {
  for (const one of wanted) {
    const found = searchFiles(one, settings)
    if (found) return found
  }
  if (isExecutable(hint)) return { abspath: hint }
  for (const one of wanted) {
    const found = await searchByAsking(one, settings, as)
    if (found) return found
  }
  return undefined
}

// Rows of programs may come from anybody, too, and what they name is run or installed: what we found, and what hooks
// have asked for, is noted in the data dir as what people set is.
const placeOf = (name: string, abspath: string) => ['program', JSON.stringify([name, abspath])] as const
const requestOf = ({ name, binproviders, minVersion }: NeededBinary) =>
  ['request', JSON.stringify([name, binproviders, minVersion])] as const

/** Is a program where we found it, or a hook said that it is? */
function isFoundHere(dataDir: string, { name, abspath }: Pick<BinaryRow, 'name' | 'abspath'>): boolean {
  return abspath !== '' && isTrusted(dataDir, ...placeOf(name, abspath))
}

/** Queues the programs that a hook requested or found; the next crawl that starts looks them up. */
export async function queueBinaries(context: WorkerContext, records: readonly BinaryRecord[]): Promise<void> {
  if (records.length === 0 || excludes(context.scope, 'binary')) return
  const { db, machineId, dataDir } = context.owner.home
  const places = records.filter(({ abspath }) => abspath !== '')
  trust(dataDir, [...records.map(requestOf), ...places.map(({ name, abspath }) => placeOf(name, abspath))])
  await declareBinaries(db, machineId, records)
  for (const { name, abspath } of places) await hintBinary(db, machineId, name, abspath)
}

/** The programs that the hooks of one target may use. */
export interface ResolvedBinaries {
  /** `<NAME>_BINARY`: the path of each program; and the search paths on which Node and Python find modules. */
  readonly settings: HookSettings
  /** Plugins that cannot run, with the reason. */
  readonly missing: ReadonlyMap<string, string>
}

export async function resolvedBinaries(
  { db, machineId, dataDir }: Home,
  hooks: readonly Hook[],
  settings: HookSettings,
): Promise<ResolvedBinaries> {
  const missing = new Map<string, string>()
  const paths: Record<string, string> = {}
  const wanted = wantedBy(hooks, settings)
  const rows = wanted.length === 0 ? [] : await binariesOf(db, machineId)
  const installed: string[] = []
  for (const { plugin, binary, name } of wanted) {
    const row = rows.find((one) => one.name === name)
    if (missing.has(plugin)) continue
    if (row?.status === 'queued' && row.message !== '' && !binary.neededBy) missing.set(plugin, row.message)
    if (row?.status !== 'installed' || !isFoundHere(dataDir, row)) continue
    if (isOlder(row.version, binary.minVersion)) missing.set(plugin, tooOld(name, row.version, binary.minVersion))
    if (binary.setting) put(paths, binary.setting, row.abspath)
    installed.push(row.abspath)
  }
  return { settings: { ...paths, ...searchPaths(installed, settings) }, missing }
}
