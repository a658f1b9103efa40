/** A number that a setting gives, in the setting's own unit. */
export interface Setting<Name extends string = string> {
  readonly setting: Name
  /** Where nobody has set it. */
  readonly standard: number
}

/** What any state may say. */
interface AnyDef {
  /**
   * Columns that follow from being in the state: what a row gets in them when it enters, as SQL over the row (`work`).
   * For rows that are held by others.
   */
  readonly entering?: Readonly<Record<string, string>>
}

/** A state that rows leave again. */
interface LiveDef<S extends string> extends AnyDef {
  readonly final?: false
  /** Its edges: event -> next state. */
  readonly on: Readonly<Record<string, S>>
  /** How long after entering it a row is first due; default 0. */
  readonly startAfterMs?: number
  /** How long after `again()`, or a failure, the row is due again. */
  readonly retryAfterMs?: number
  /** How long one run of its handler may take; default: the runner's deadline. */
  readonly deadlineMs?: number
  /** Moves a row out of the state after this time, even if its handler keeps failing. */
  readonly timeout?: { readonly afterMs: number; readonly to: S }
  /**
   * Moves a row out of the state after this many claims in a row without a clean end: failures, deadlines, dead
   * workers. Where work precedes that (`withHandlers`), after as many again at the latest. Needs `attempts`.
   */
  readonly giveUp?: { readonly after: number; readonly to: S }
  /**
   * For rows that are held by others, instead of the two: after how many seconds, and how often, their holder tries
   * again before they move on.
   */
  readonly again?: { readonly afterSeconds: Setting; readonly most: Setting; readonly to: S }
  /** Deletes a row after this time in the state. */
  readonly deleteAfterMs?: number
  /** Rows here are never claimed: only an event from outside moves them. */
  readonly external?: true
  readonly reopen?: never
}

/** A state that ends a row's life. */
interface FinalDef<S extends string> extends AnyDef {
  readonly final: true
  readonly on?: never
  /** Edges that begin a life anew: event -> next state. Neither a claim nor `send` offers them, only `moved`. */
  readonly reopen?: Readonly<Record<string, S>>
  readonly startAfterMs?: never
  readonly retryAfterMs?: never
  readonly deadlineMs?: never
  readonly timeout?: never
  readonly giveUp?: never
  readonly again?: never
  /** As above; 0: the outcome that leads here deletes the row instead of updating it. */
  readonly deleteAfterMs?: number
  readonly external?: never
}

type StateDef<S extends string> = LiveDef<S> | FinalDef<S>

/**
 * The columns for state, schedule and claim. The first four are required, the others used when named. Rows that are
 * held by others need no schedule and no token.
 */
export interface Columns {
  readonly id: string
  readonly status: string
  readonly retryAt: string
  readonly token: string
  /** Who holds the claim (any text or uuid from the caller). */
  readonly owner?: string
  /** Claims in a row without a clean end. */
  readonly attempts?: string
  /** When the row entered its state; required for `timeout` and a `deleteAfterMs` above 0. */
  readonly changedAt?: string
  /** The token under which the row was last settled or moved; null after an event from outside or a timeout. */
  readonly movedBy?: string
  readonly modifiedAt?: string
}

/** The graph of one model: states in life order, and the table of its rows. */
export interface Machine {
  readonly name: string
  readonly table: string
  readonly idType: 'uuid' | 'bigint' | 'text'
  readonly columns: Columns
  /** The graph whose claims hold these rows, too: they have no claim of their own, and a `Queue` refuses them. */
  readonly heldBy?: string
  /** Seconds that a claim holds without renewal; it is renewed three times per lease. */
  readonly leaseSeconds: number
  /** Writes a row to `transition` at each change of state. */
  readonly history: boolean
  readonly initial: string
  readonly states: Readonly<Record<string, StateDef<string>>>
}

export type State<M extends Machine> = keyof M['states'] & string
export type FinalState<M extends Machine> = {
  [S in State<M>]: M['states'][S] extends { final: true } ? S : never
}[State<M>]
export type LiveState<M extends Machine> = Exclude<State<M>, FinalState<M>>
/** The states in which rows are claimed: neither final nor external. */
export type WorkState<M extends Machine> = {
  [S in LiveState<M>]: M['states'][S] extends { external: true } ? never : S
}[LiveState<M>]
/** The events of a state; for several states, those that all of them offer. */
export type EventOf<M extends Machine, S extends State<M>> = keyof M['states'][S]['on'] & string
/** The events that begin a final state's life anew. */
export type ReopenOf<M extends Machine, S extends State<M>> = M['states'][S] extends { readonly reopen: infer R }
  ? keyof R & string
  : never
/** The events of all states. */
export type AnyEventOf<M extends Machine> = { [S in LiveState<M>]: EventOf<M, S> }[LiveState<M>]
export type Target<
  M extends Machine,
  S extends State<M>,
  E extends EventOf<M, S>,
> = M['states'][S]['on'] extends infer On ? (E extends keyof On ? On[E] : never) : never

/** Seconds that a claim holds without renewal, by default (ArchiveBox's ACTIVE_STATE_LEASE_SECONDS). */
export const LEASE_SECONDS = 60

const DEFAULT_COLUMNS: Columns = { id: 'id', status: 'status', retryAt: 'retry_at', token: 'claim_token' }

/**
 * Declares a state graph. Unknown targets, an unknown initial state and edges out of a final state do not compile. What
 * types cannot check throws at program start and names the state: unreachable states, dead ends, negative times, a
 * timeout without `changedAt`, a `giveUp` without `attempts`.
 */
export function defineMachine<const S extends string, const D extends Record<S, StateDef<NoInfer<S>>>>(definition: {
  readonly name: string
  readonly table: string
  readonly idType?: Machine['idType']
  readonly columns?: Partial<Columns>
  readonly heldBy?: string
  readonly leaseSeconds?: number
  readonly history?: boolean
  readonly initial: NoInfer<S>
  readonly states: D & Record<S, StateDef<NoInfer<S>>>
}): Omit<Machine, 'initial' | 'states'> & { readonly initial: S; readonly states: D } {
  const machine = {
    ...definition,
    idType: definition.idType ?? 'uuid',
    columns: { ...DEFAULT_COLUMNS, ...definition.columns },
    leaseSeconds: definition.leaseSeconds ?? LEASE_SECONDS,
    history: definition.history ?? false,
  }
  checkGraph(machine)
  return machine
}

/** The states that end a row's life. */
export function finalStates<M extends Machine>(machine: M): FinalState<M>[] {
  return Object.keys(machine.states).filter((state) => machine.states[state]!.final) as FinalState<M>[]
}

/** The states in which a due row is claimed. */
export function workStates<M extends Machine>(machine: M): WorkState<M>[] {
  return Object.keys(machine.states).filter(
    (state) => !machine.states[state]!.final && !machine.states[state]!.external,
  ) as WorkState<M>[]
}

/** Where an event leads from this state, if that offers it. */
export function targetOf({ states }: Machine, from: string, event: string): string | undefined {
  const { on, reopen } = states[from]!
  return [on, reopen].find((edges) => edges && Object.hasOwn(edges, event))?.[event]
}

/** Does an outcome that leads to this state delete the row? */
export function vanishesIn({ states }: Machine, state: string): boolean {
  const { final, deleteAfterMs } = states[state]!
  return final === true && deleteAfterMs === 0
}

/** An invalid graph; names the graph and the state. */
export class GraphError extends Error {
  override readonly name = 'GraphError'
  constructor(machine: Pick<Machine, 'name'>, what: string) {
    super(`state graph "${machine.name}": ${what}`)
  }
}

function checkGraph(machine: Machine): void {
  const { states, initial } = machine
  const fail = (state: string, what: string): never => {
    throw new GraphError(machine, `state "${state}" ${what}`)
  }
  if (!Object.hasOwn(states, initial))
    throw new GraphError(machine, `the initial state "${initial}" is not one of its states`)
  if (states[initial]!.final) fail(initial, 'is initial and final at once')
  for (const [state, def] of Object.entries(states)) {
    for (const target of [...targetsOf(def), ...Object.values(def.reopen ?? {})])
      if (!Object.hasOwn(states, target)) fail(state, `leads to "${target}", which is not one of its states`)
    if (def.final && targetsOf(def).length > 0) fail(state, 'is final and has a way out')
    if (!def.final && targetsOf(def).length === 0) fail(state, 'is not final and has no way out')
    if (!def.final && def.reopen) fail(state, 'is not final and reopens')
    if (def.entering && machine.heldBy === undefined) fail(state, 'has `entering`, and its rows are not held by others')
    if (def.again && machine.heldBy === undefined) fail(state, 'has `again`, and its rows are not held by others')
    if ((def.retryAfterMs || def.giveUp) && machine.heldBy !== undefined)
      fail(state, 'has numbers of claims, and its rows are held by others')
    checkNumbers(machine, def, (what) => fail(state, what))
  }
  const reached = new Set([initial])
  for (const state of reached) for (const target of targetsOf(states[state]!)) reached.add(target)
  for (const state of Object.keys(states))
    if (!reached.has(state)) fail(state, 'cannot be reached from the initial state')
}

function checkNumbers({ columns }: Machine, def: StateDef<string>, fail: (what: string) => never): void {
  for (const [name, value] of [
    ['startAfterMs', def.startAfterMs],
    ['retryAfterMs', def.retryAfterMs],
    ['deadlineMs', def.deadlineMs],
    ['deleteAfterMs', def.deleteAfterMs],
    ['timeout.afterMs', def.timeout?.afterMs],
  ] as const) {
    if (value !== undefined && !(value >= 0 && Number.isFinite(value))) fail(`has a negative or endless ${name}`)
  }
  if (def.giveUp && !(Number.isInteger(def.giveUp.after) && def.giveUp.after > 0))
    fail('gives up after no whole number of attempts')
  if (def.giveUp && !columns.attempts) fail('gives up after some attempts, but no column `attempts` is named')
  if ((def.timeout || def.deleteAfterMs) && !columns.changedAt)
    fail('has a timeout or deleteAfterMs, but no column `changedAt` is named')
  if (def.deleteAfterMs === 0 && !def.final) fail('is not final and has a deleteAfterMs of 0')
}

function targetsOf(def: StateDef<string>): string[] {
  return [
    ...Object.values(def.on ?? {}),
    ...(def.timeout ? [def.timeout.to] : []),
    ...(def.giveUp ? [def.giveUp.to] : []),
    ...(def.again ? [def.again.to] : []),
  ]
}
