import { attemptName } from '../../src/base/attempt-paths.ts'
import type { Hook } from '../../src/hooks/discover.ts'
import type { ResultRow } from '../../src/machines/results.ts'
import { after } from '../../src/workers/page/after.ts'
import {
  type HookOfPage,
  hookOf,
  hooksAt,
  isInLog,
  isLateWanted,
  type PageState,
} from '../../src/workers/page/page-state.ts'
import { type Next, plan } from '../../src/workers/page/plan.ts'
import { recovered } from '../../src/workers/page/recovered.ts'
import { told } from '../../src/workers/page/told.ts'
import type { Happening, Model } from './explore.ts'

// A page and what its workers leave behind: its rows, its log, its files. What happens next is planned by the code
// itself; only what it takes to carry that out is imitated here, effect by effect, so that a worker may die between any
// two of them.

/** What a hook does in one attempt. */
export interface Deed {
  readonly event: 'succeed' | 'empty' | 'skip' | 'fail' | 'delay'
  readonly output?: string
  readonly files?: true
}

/** A page as it is claimed, and what its hooks do. */
export interface Page {
  readonly claimed: PageState
  /** By plugin, for each attempt; the last one counts for further ones. */
  readonly deeds: Readonly<Record<string, readonly Deed[]>>
}

/** What outlasts a worker. */
interface World {
  readonly status: 'queued' | 'started' | 'sealed'
  readonly rows: readonly ResultRow[]
  /** The attempts whose ends are in the log. */
  readonly log: readonly string[]
  /** Plugins whose files are in place. */
  readonly published: readonly string[]
  readonly hasWorkTree: boolean
}

interface Change {
  readonly hook: Hook
  readonly event: string
  readonly output: string
  readonly files: boolean
}

/** A worker, and how far it is with what it does. */
interface Worker {
  readonly page: PageState
  /** Ends that are not written yet, and whether they would be lost with it. */
  readonly unwritten: readonly Change[]
  readonly isUntold: boolean
  /** The rows are not written yet, and will be at any moment, with the next required write, or with the end. */
  readonly isUnborn: boolean
  /** The hooks that have acted on what a background hook has opened, since that began. */
  readonly acted: readonly string[]
  /** What is left of its step. */
  readonly left: readonly Effect[]
}

export interface State {
  readonly world: World
  readonly worker?: Worker
  readonly crashes: number
  readonly drains: number
  /** What must not have happened. */
  readonly broken?: string
}

type Here = State & { readonly worker: Worker }
type Effect = readonly [name: string, act: (here: Here) => State]

const STATUS: Readonly<Record<string, ResultRow['status']>> = {
  ...{
    succeed: 'succeeded',
    empty: 'noresults',
    skip: 'skipped',
    fail: 'failed',
    delay: 'backoff',
    interrupt: 'queued',
  },
  start: 'started',
}
const BEGUN = new Date(0)
const IS_FILE = { what: 'file', isThere: true } as const
const FINAL = ['succeeded', 'noresults', 'skipped', 'failed']

export function pageModel(page: Page, faults: Pick<State, 'crashes' | 'drains'>): Model<State> {
  const world: World = { status: 'queued', rows: [], log: [], published: [], hasWorkTree: false }
  const start: State = { world, ...faults }
  const expected = endOf(page, start)
  return {
    start,
    next: (state) => nextOf(page, state),
    broken: ({ world: { status, rows }, broken }) =>
      broken ?? (status === 'sealed' && summary(rows) !== expected ? `it ended with ${summary(rows)}` : undefined),
    alive: () => true,
    done: ({ world: { status } }) => status === 'sealed',
  }
}

/** How the hooks end when nothing happens on the way. */
function endOf(page: Page, start: State): string {
  let state = start
  for (let steps = 0; state.world.status !== 'sealed'; steps += 1) {
    if (steps > 1_000) throw new Error('it has no end')
    state = nextOf(page, state).find(({ fault }) => !fault)!.to
  }
  return summary(state.world.rows)
}

export const summary = (rows: readonly ResultRow[]): string =>
  rows
    .map(({ plugin, attempt, status, output_str }) => `${plugin}.${attempt} ${status} ${output_str}`.trim())
    .join('; ')

function nextOf(page: Page, state: State): Happening<State>[] {
  const { worker, crashes, drains, world } = state
  if (world.status === 'sealed') return []
  if (!worker) {
    const claimed = { page: page.claimed, unwritten: [], isUntold: false, isUnborn: false, acted: [], left: [] }
    return [{ name: 'claim', to: { ...state, worker: claimed } }]
  }
  const isBetween = worker.left.length === 0
  const [effect, ...left] = isBetween ? effectsOf(page, worker.page, plan(worker.page)) : worker.left
  const [name, act] = effect!
  const done = act({ ...state, worker })
  const to = done.worker ? { ...done, worker: { ...done.worker, left } } : done
  const happenings: Happening<State>[] = [{ name, to }]
  if (name === 'prepare' && isNew(world)) happenings.push({ name: 'prepare unwritten', to: unborn(to, true) })
  if (worker.isUnborn) happenings.push({ name: 'born', to: unborn(state, false) })
  const remains = worker.isUnborn ? { ...world, rows: [], status: 'queued' as const } : world
  if (crashes > 0) happenings.push({ name: 'crash', fault: true, to: { world: remains, drains, crashes: crashes - 1 } })
  if (drains > 0 && isBetween && worker.page.stop.how === 'none') {
    const stop = { how: 'drain', isExplained: true } as const
    const draining = { ...worker, page: after(worker.page, { what: 'stop', stop }) }
    happenings.push({ name: 'drain', fault: true, to: { ...state, worker: draining, drains: drains - 1 } })
  }
  return happenings
}

const isNew = ({ status, rows, log, hasWorkTree }: World) =>
  status === 'queued' && rows.length + log.length === 0 && !hasWorkTree

const unborn = (state: State, isUnborn: boolean): State =>
  state.worker ? { ...state, worker: { ...state.worker, isUnborn } } : state

/** The effects of a step, in the order in which `carryOut` and `endRound` have them. */
function effectsOf(page: Page, state: PageState, next: Next): Effect[] {
  switch (next.do) {
    case 'ask':
      return [['allow', (here) => seen(here, { what: 'allowed', putOffMs: undefined })]]
    case 'begin':
      return [['prepare', begun]]
    case 'repeat':
      return [
        ['write', written],
        ['forget ends', (here) => inWorld(here, { log: without(here.world.log, next.hooks.map(nameOf)) })],
        ['queue', (here) => repeatedIn(here, next.hooks)],
      ]
    case 'adopt':
      return [...settling(page, next.hooks), ['forget ends', forgotten], ['open', opened]]
    case 'add late':
      return [
        [
          'add',
          (here) =>
            lateAdded(
              here,
              next.hooks.map(({ hook }) => hook),
            ),
        ],
      ]
    case 'end unrun':
      return next.ends.map(({ one, end, isTold }): Effect => {
        const { hook } = one
        const fact = { what: 'ended unrun', hook, end, waitMs: end.event === 'delay' ? 0 : undefined } as const
        return [`end ${hook.plugin}`, (here) => noted(seen(here, fact), { ...end, hook, files: false }, isTold)]
      })
    case 'run job': {
      const row = [...next.hooks, ...(next.ahead ? [next.ahead] : [])]
      const runs = row.map((one): Effect => [`run ${one.hook.plugin}`, (here) => logged(ran(here, one), one)])
      const start: Effect = ['start', (here) => (here.worker.isUnborn ? here : startedIn(here, row[0]!))]
      return [start, ...runs, ...settling(page, row, next.ahead?.hook)]
    }
    case 'run': {
      const { hook } = next.hook
      const start: Effect = ['start', (here) => startedIn(seen(here, { what: 'shared' }), next.hook)]
      if (hook.background) return [start, ['goes on', (here) => seen(ran(here, next.hook), { what: 'running', hook })]]
      return [start, ['run', (here) => ran(here, next.hook)], ...settling(page, [next.hook])]
    }
    case 'end background': {
      const running = hooksAt(state, 'running')
      const hooks = running.map(({ hook }) => hook)
      const ends = running.flatMap((one) => (next.early ? interrupting(one) : settling(page, [one])))
      return [['write', written], ['end', (here) => seen(here, { what: 'exited', hooks })], ...ends]
    }
    case 'release':
      return [
        ['interrupt', (here) => hooksAt(here.worker.page, 'open').reduce(interrupted, here)],
        ['write', written],
        ['release', ({ world, crashes, drains }) => ({ world: { ...world, status: 'queued' }, crashes, drains })],
      ]
    case 'seal':
      return [
        ['write', written],
        ['seal', ({ world, crashes, drains }) => ({ world: { ...world, status: 'sealed' }, crashes, drains })],
      ]
    default:
      throw new Error(`nothing here leads to "${next.do}"`)
  }
}

const nameOf = ({ hook, result }: HookOfPage) => attemptName(hook.plugin, hook.name, result.attempt)
const without = <T>(all: readonly T[], some: readonly T[]) => all.filter((one) => !some.includes(one))
const inWorld = (here: Here, change: Partial<World>): Here => ({ ...here, world: { ...here.world, ...change } })
const seen = (here: Here, fact: Parameters<typeof after>[1]): Here => ({
  ...here,
  worker: { ...here.worker, page: after(here.worker.page, fact) },
})

function begun(here: Here): Here {
  const { page } = here.worker
  const rows = [...here.world.rows]
  for (const { at, hook } of page.hooks) {
    const last = rows.findLastIndex((row) => row.plugin === hook.plugin)
    const row = rows[last]
    if (row?.status === 'started') rows[last] = { ...row, status: 'queued' }
    if (row?.status === 'backoff') {
      rows[last] = { ...row, status: 'failed', end_ts: BEGUN }
      rows.push(fresh(hook, row.attempt + 1, row.retries + 1))
    }
    if (!row && at !== 'late') rows.push(fresh(hook, 1, 0))
  }
  const current = new Map(rows.map((row) => [row.plugin, row]))
  const { log, hasWorkTree, published } = here.world
  const left = { logged: new Set(hasWorkTree ? log : []), published: new Set(published), begunAt: BEGUN }
  const now = inWorld(here, { rows, status: 'started' })
  return { ...now, worker: { ...now.worker, page: recovered(page, { rows: [...current.values()], ...left }) } }
}

const fresh = (hook: Hook, attempt: number, retries: number): ResultRow => ({
  ...{ id: `${hook.plugin}.${attempt}`, plugin: hook.plugin, hook_name: hook.name, attempt, retries },
  ...{ status: 'queued', output_str: '', has_files: false, end_ts: null },
})

function lateAdded(before: Here, hooks: readonly Hook[]): Here {
  const here = written(before)
  const added = hooks.filter(({ plugin }) => !here.world.rows.some((row) => row.plugin === plugin))
  const now = inWorld(here, { rows: [...here.world.rows, ...added.map((hook) => fresh(hook, 1, 0))] })
  return seen(now, { what: 'late added', rows: now.world.rows })
}

/** What `one.row` says now. */
function rowOf({ world }: State, { result }: HookOfPage): ResultRow {
  return world.rows.find(({ id }) => id === result.id)!
}

function ran(here: Here, one: HookOfPage): Here {
  const { hook } = one
  const { status } = rowOf(here, one)
  const { page, acted } = here.worker
  if (FINAL.includes(status)) return { ...here, broken: `${hook.plugin} runs although it is ${status}` }
  if (hook.background) return { ...here, worker: { ...here.worker, acted: [] } }
  // Each one that leaves no files changes what the next ones see.
  const before = page.hooks.filter(
    ({ hook: other, end, result }) =>
      other.name < hook.name && !other.background && sharesOne(hook, other, page) && end && !result?.has_files,
  )
  const lost = before.find(({ hook: { plugin }, end }) => end?.status === 'succeeded' && !acted.includes(plugin))
  if (lost) return { ...here, broken: `${hook.plugin} sees nothing of what ${lost.hook.plugin} has done` }
  return { ...here, worker: { ...here.worker, acted: [...acted, hook.plugin] } }
}

/** Do both act on what one background hook has opened? */
const sharesOne = (one: Hook, other: Hook, { hooks }: PageState) =>
  hooks.some(
    ({ hook: { background, plugin } }) =>
      background && one.requires.includes(plugin) && other.requires.includes(plugin),
  )

function logged(here: Here, one: HookOfPage): Here {
  if (here.world.log.includes(nameOf(one))) return { ...here, broken: `${one.hook.plugin} ends in the log twice` }
  return inWorld(here, { log: [...here.world.log, nameOf(one)] })
}

function repeatedIn(here: Here, hooks: readonly HookOfPage[]): Here {
  const ids = hooks.map(({ result }) => result.id)
  const rows = here.world.rows.map((row) => (ids.includes(row.id) ? { ...row, status: 'queued' as const } : row))
  return seen(inWorld(here, { rows }), { what: 'repeated', hooks, files: {} })
}

function forgotten(here: Here): Here {
  return inWorld(here, { log: without(here.world.log, hooksAt(here.worker.page, 'open', 'logged').map(nameOf)) })
}

function opened(here: Here): Here {
  const isFile = here.world.published.includes('staticfile')
  const now = inWorld(isFile ? seen(here, IS_FILE) : here, { hasWorkTree: true })
  return seen(now, { what: 'opened' })
}

/** Everything that is known is written. */
function written(here: Here): Here {
  const { unwritten } = here.worker
  const rows = here.world.rows.map((row) => {
    const change = unwritten.findLast(({ hook }) => hook.plugin === row.plugin && !isOld(here, row))
    if (!change) return row
    const status = STATUS[change.event]!
    const ended = FINAL.includes(status) ? BEGUN : null
    return { ...row, status, output_str: change.output, has_files: row.has_files || change.files, end_ts: ended }
  })
  return { ...inWorld(here, { rows }), worker: { ...here.worker, unwritten: [], isUntold: false, isUnborn: false } }
}

const isOld = ({ world }: State, row: ResultRow) =>
  world.rows.some(({ plugin, attempt }) => plugin === row.plugin && attempt > row.attempt)

function noted(here: Here, change: Change, isTold: boolean): Here {
  const isKnown = here.worker.unwritten.some(({ hook }) => hook.plugin === change.hook.plugin)
  const now = isKnown ? written(here) : here
  const { unwritten, isUntold } = now.worker
  return { ...now, worker: { ...now.worker, unwritten: [...unwritten, change], isUntold: isUntold || !isTold } }
}

const startedIn = (here: Here, { hook }: HookOfPage): Here =>
  written(noted(here, { hook, event: 'start', output: '', files: false }, false))

const interrupted = (here: Here, one: HookOfPage): Here =>
  rowOf(here, one).status === 'started'
    ? noted(here, { hook: one.hook, event: 'interrupt', output: '', files: false }, false)
    : here

const interrupting = (one: HookOfPage): Effect[] => [
  [
    `interrupt ${one.hook.plugin}`,
    (here) => {
      const now = seen(here, { what: 'ended', hook: one.hook, end: { event: 'interrupt', output: '' } })
      return noted(now, { hook: one.hook, event: 'interrupt', output: '', files: false }, false)
    },
  ],
]

/** As `settle`: judge, fence, rename, add the results. */
function settling({ deeds }: Page, hooks: readonly HookOfPage[], ahead?: Hook): Effect[] {
  const ends = hooks.map((one) => ({
    one,
    deed: deeds[one.hook.plugin]!.at(one.result.attempt - 1) ?? LAST(deeds, one),
  }))
  const made = ends.filter(({ deed }) => deed.files).map(({ one }) => one.hook.plugin)
  const look: Effect = ['look', (here) => (made.includes('staticfile') ? seen(here, IS_FILE) : here)]
  const fence: Effect = ['confirm', (here) => (here.worker.isUntold ? written(here) : here)]
  const renames = made.map((plugin): Effect => [`rename ${plugin}`, (here) => publishedIn(here, plugin)])
  const takes = ends.map(({ one, deed }): Effect => {
    const { hook } = one
    return [
      `take ${hook.plugin}`,
      (here) => {
        if (hook === ahead && isLateWanted(here.worker.page)) return inVain(here, one)
        const { event, output } = told(here.worker.page, hookOf(here.worker.page, hook) as HookOfPage, {
          ...{ output: '', ...deed },
        })
        const waitMs = event === 'delay' ? 0 : undefined
        const now = seen(here, { what: 'ended', hook, end: { event, output }, waitMs })
        return event === 'wait'
          ? interrupted(now, one)
          : noted(now, { hook, event, output, files: deed.files ?? false }, isInLog(one))
      },
    ]
  })
  return [look, ...(made.length > 0 ? [fence, ...renames] : []), ...takes]
}

const LAST = (deeds: Page['deeds'], { hook }: HookOfPage) => deeds[hook.plugin]!.at(-1)!

const publishedIn = (here: Here, plugin: string): Here =>
  inWorld(here, { published: [...without(here.world.published, [plugin]), plugin] })

function inVain(here: Here, one: HookOfPage): Here {
  const log = without(here.world.log, [nameOf(one)])
  const published = without(here.world.published, [one.hook.plugin])
  return seen(interrupted(inWorld(here, { log, published }), one), { what: 'in vain', hook: one.hook })
}
