import type { Columns, Machine, StateDef } from './graph.ts'

export type { Columns, Machine, Setting } from './graph.ts'

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
 * types cannot check throws at program start, naming the state: unreachable states, dead ends, negative times, a
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

/** Whether an outcome that leads to this state deletes the row. */
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
