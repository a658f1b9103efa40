/** A state with a way out, or a final one. `external` marks a state that only a person's command leaves. */
type StateDef<S extends string> =
  | { readonly final: true; readonly on?: never; readonly external?: never }
  | { readonly final?: false; readonly on: Readonly<Record<string, S>>; readonly external?: true }

/** The graph of one model: states in life order, each with its edges (event -> next state). */
export interface Machine {
  readonly name: string
  /** The table whose rows it drives. */
  readonly table: string
  readonly initial: string
  readonly states: Readonly<Record<string, StateDef<string>>>
}

export type State<M extends Machine> = keyof M['states'] & string
export type FinalState<M extends Machine> = { [S in State<M>]: M['states'][S] extends { final: true } ? S : never }[State<M>]
export type LiveState<M extends Machine> = Exclude<State<M>, FinalState<M>>
export type EventOf<M extends Machine, S extends State<M>> = keyof M['states'][S]['on'] & string
export type Target<M extends Machine, S extends State<M>, E extends EventOf<M, S>> = M['states'][S]['on'] extends infer On
  ? E extends keyof On
    ? On[E]
    : never
  : never

/**
 * Declares a state graph. Unknown targets, an unknown initial state and edges out of a final state do not compile; what types cannot see
 * (unreachable states, dead ends) throws when the program starts, and names the state.
 */
export function defineMachine<const S extends string, const D extends Record<S, StateDef<NoInfer<S>>>>(definition: {
  readonly name: string
  readonly table: string
  readonly initial: NoInfer<S>
  readonly states: D & Record<S, StateDef<NoInfer<S>>>
}): { readonly name: string; readonly table: string; readonly initial: S; readonly states: D } {
  check(definition)
  return definition
}

/** The statuses that end a row's life. */
export function finalStates<M extends Machine>(machine: M): FinalState<M>[] {
  return Object.keys(machine.states).filter((state) => machine.states[state]!.final) as FinalState<M>[]
}

/** The statuses in which a due row is claimed: neither final nor external. */
export function workStates<M extends Machine>(machine: M): LiveState<M>[] {
  return Object.keys(machine.states).filter((state) => !machine.states[state]!.final && !machine.states[state]!.external) as LiveState<M>[]
}

function check(machine: Machine): void {
  const reached = new Set([machine.initial])
  for (const state of reached) for (const target of Object.values(machine.states[state]?.on ?? {})) reached.add(target)
  const complain = (state: string, what: string) => {
    throw new Error(`state graph "${machine.name}": state "${state}" ${what}`)
  }
  for (const [state, { final, on }] of Object.entries(machine.states)) {
    if (!reached.has(state)) complain(state, 'cannot be reached from the initial state')
    if (!final && Object.keys(on ?? {}).length === 0) complain(state, 'is not final and has no way out')
  }
  if (machine.states[machine.initial]?.final) complain(machine.initial, 'is initial and final at once')
}
