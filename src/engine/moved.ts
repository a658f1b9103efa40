import { type EventOf, GraphError, type Machine, type ReopenOf, type State, targetOf } from './machine.ts'
import { joined, type Text, text } from './sql.ts'
import { list, literal, quote, tableOf } from './table.ts'
import { dueIn, entered, history, lockOrder, updated } from './transition-text.ts'

// Parts for statements of the caller: common table expressions that move rows along the edges of their graph and write
// their history. So changes that belong together are one statement, and no status changes without its graph. An array
// of ids (`array(select ...)`) names the rows: for a join the planner might scan a table that it believes to be small.
// No two parts of one statement may concern one row, since PostgreSQL carries out only one of the changes.

interface Changes<X> {
  /** The name of the moved rows in the statement; they have `id`, `from_status`, `to_status`, `event`. */
  readonly as: string
  /** The author, for the history: a uuid or null. */
  readonly by: Text<X>
  /** Other columns, over the row (`work`); they override those of the graph. */
  readonly set?: Readonly<Record<string, Text<X>>>
  /** A condition on the row, `work`. */
  readonly guard?: Text<X>
  /**
   * For rows that are held by others: the item of the statement with their holder's row, locked while its claim is
   * ours. When it is empty, nothing moves. Without it, a statement locks each of the rows instead.
   */
  readonly holder?: string
  /** More columns for `as`: those of `work`, in their new state. */
  readonly returning?: Text<X>
}

/** An event that all of these states offer, even if it reopens. */
export type MoveOf<M extends Machine, S extends State<M>> = (
  S extends S
    ? (event: EventOf<M, S> | ReopenOf<M, S>) => void
    : never
) extends (event: infer E) => void
  ? E
  : never

export interface Move<M extends Machine, S extends State<M>, X> extends Changes<X> {
  /** The ids, an array; rows in other states stay as they are. */
  readonly rows: Text<X>
  readonly from: readonly S[]
  readonly event: MoveOf<M, NoInfer<S>>
  /**
   * The claim under which the row moves, and which continues. Without one, whoever holds the row loses it, and it is
   * due as its new state defines.
   */
  readonly token?: Text<X>
}

/** Moves rows from some states along one event. Throws GraphError when one does not offer it, or ends its claim. */
export function moved<M extends Machine, const S extends State<M>, X = never>(
  machine: M,
  { rows, from, event, token, ...changes }: Move<M, S, X>,
): (string | X)[] {
  const edges = edgesOf(machine, from, event as string)
  const odd = from.find((state) => !edges.some(([one]) => one === state))
  if (odd !== undefined) throw new GraphError(machine, `state "${odd}" does not offer the event "${event}"`)
  const end = edges.find(([, , to]) => machine.states[to]!.final || machine.states[to]!.external)
  if (token !== undefined && end) throw new GraphError(machine, `no claim goes on in the state "${end[2]}"`)
  return movedAlong<X>(machine, edges, { rows, token, ...changes })
}

interface Holding<X> {
  readonly token?: Text<X> | undefined
  readonly holder?: string
  readonly guard?: Text<X>
}

/** Whether nobody else can move the rows meanwhile. */
const isHeld = <X>({ token, holder }: Holding<X>) => token !== undefined || holder !== undefined

const guarded = <X>({ holder, guard }: Holding<X>): (string | X)[] => [
  ...(holder === undefined ? [] : [` and exists (select from ${holder})`]),
  ...(guard === undefined ? [] : text<X>` and ${guard}`),
]

/** An edge: the state before, the event, the state after. */
type Edge = readonly [from: string, event: string, to: string]

/** The edges of an event out of these states. */
export function edgesOf(machine: Machine, from: readonly string[], event: string): Edge[] {
  return from.flatMap((state) => {
    const to = targetOf(machine, state, event)
    return to === undefined ? [] : [[state, event, to] as const]
  })
}

/** As `moved`, along edges of one event. @param due the schedule of a row; by default as its new state defines */
export function movedAlong<X = never>(
  machine: Machine,
  edges: readonly Edge[],
  how: Changes<X> & { readonly rows: Text<X>; readonly token?: Text<X> | undefined },
  due = (to: string) => dueIn(machine, to),
): (string | X)[] {
  const { rows, token } = how
  const t = tableOf(machine)
  const claimed = token === undefined ? [] : text<X>` and work.${t.token} = ${token}`
  const ours = text<X>`work.${t.id} = any(${rows})${claimed}${guarded(how)}`
  const targets = [...new Set(edges.map(([, , to]) => to))]
  const [from, event, to] = edges[0]!
  // Nobody else moves a row that is held: it needs no lock, and no look before.
  if (isHeld(how) && edges.length === 1) {
    const set = assigned<X>(machine, `${literal(to)}`, (value) => value(to), targets, how, due)
    // "is not distinct from": with `=` a plan may read a whole index of rows in that state, believed to be empty.
    const where = text<X>`${ours} and work.${t.status} is not distinct from ${literal(from)}`
    const edge = [`${literal(from)}::text`, `${literal(to)}::text`, `${literal(event)}::text`] as const
    return [...updated<X>(machine, { ...how, set, where, edge }), history(machine, how.as)]
  }
  const target =
    targets.length === 1 ? literal(to) : cases(`work.${t.status}`, edges, ([from, , to]) => [from, literal(to)])
  const before = text<X>`${how.as}_before as materialized (
      select work.${t.id} as id, work.${t.status}::text as from_status, ${target}::text as to_status,
        ${literal(event)}::text as event
      from ${t.name} as work where ${ours} and work.${t.status} in (${list(edges.map(([from]) => from))})
      ${isHeld(how) ? '' : `${lockOrder(`work.${t.id}`)} for no key update`}
    )`
  return joined<X>([before, changedFrom<X>(machine, targets, how, due)], ', ')
}

/** Rows of `changes`, an item of the statement: `id`, `event`, and whatever else `set` reads from it, as `change`. */
export interface EachMove<X> extends Changes<X> {
  readonly changes: string
}

/** Moves each row along an event of its own. A row whose state does not offer its event stays as it is. */
export function movedEach<X = never>(machine: Machine, how: EachMove<X>): (string | X)[] {
  const { as, changes } = how
  const t = tableOf(machine)
  const edges = Object.entries(machine.states).flatMap(([from, { on }]) =>
    Object.entries(on ?? {}).map(([event, to]) => `(${[from, event, to].map(literal).join(', ')})`),
  )
  const targets = [...new Set(Object.values(machine.states).flatMap(({ on }) => Object.values(on ?? {})))]
  const before = text<X>`${as}_before as materialized (
      select work.${t.id} as id, edge.from_status, edge.to_status, edge.event
      from ${t.name} as work join ${changes} as change on change.id = work.${t.id}
      join (values ${edges.join(', ')}) as edge (from_status, event, to_status)
        on edge.from_status = work.${t.status} and edge.event = change.event
      where work.${t.id} = any(array(select id from ${changes}))${guarded(how)}
      ${isHeld(how) ? '' : `${lockOrder(`work.${t.id}`)} for no key update of work`}
    )`
  return joined<X>([before, changedFrom<X>(machine, targets, how, (to) => dueIn(machine, to), changes)], ', ')
}

/** Changes the rows that `before` found, each along its edge. A row that only re-enters its state gets no line. */
function changedFrom<X>(
  machine: Machine,
  targets: readonly string[],
  how: Changes<X> & { readonly token?: Text<X> | undefined },
  due: (to: string) => string,
  changes?: string,
): (string | X)[] {
  const { as } = how
  const t = tableOf(machine)
  const each = (value: (to: string) => string) => {
    const values = new Set(targets.map(value))
    return values.size === 1 ? value(targets[0]!) : cases('before.to_status', targets, (to) => [to, value(to)])
  }
  const set = assigned<X>(machine, 'before.to_status', each, targets, how, due)
  const from = `${as}_before as before${changes === undefined ? '' : `, ${changes} as change`}`
  // A locked row is as `before` found it, although this statement may not see that in its snapshot.
  const where = `work.${t.id} = any(array(select id from ${as}_before)) and work.${t.id} = before.id${
    isHeld(how) ? ` and work.${t.status} = before.from_status` : ''
  }${changes === undefined ? '' : ` and change.id = work.${t.id}`}`
  const edge = ['before.from_status', 'before.to_status', 'before.event'] as const
  return [
    ...updated<X>(machine, { ...how, set, from, where, edge }),
    history(machine, as, changes === undefined ? undefined : 'from_status <> to_status'),
  ]
}

/** The assignments for a row that moves: its state, the columns that follow from it, and those of the caller. */
function assigned<X>(
  machine: Machine,
  target: string,
  each: (value: (to: string) => string) => string,
  targets: readonly string[],
  { set = {}, token }: { readonly set?: Changes<X>['set']; readonly token?: Text<X> | undefined },
  due: (to: string) => string,
): (string | X)[] {
  const t = tableOf(machine)
  const changed = Object.hasOwn(set, machine.columns.changedAt ?? '') ? '' : t.changed
  const follows = machine.heldBy
    ? following(machine, targets, set).map(([column, of]) => text<X>`, ${quote(column)} = ${each(of)}`)
    : token === undefined
      ? [`, ${t.retryAt} = ${each(due)}, ${entered(t)}`]
      : [`${changed}${t.modified}`, ...(t.movedBy ? [text<X>`, ${t.movedBy} = ${token}`] : [])]
  return joined<X>([`${t.status} = ${target}`, ...follows, ...also(set)], '')
}

/** Assignments after others. */
export const also = <X>(set: Readonly<Record<string, Text<X>>>): (string | X)[][] =>
  Object.entries(set).map(([column, value]) => text<X>`, ${quote(column)} = ${value}`)

/** The columns that follow from the states, except those that the caller sets: each with its value by state. */
function following(
  { states }: Machine,
  targets: readonly string[],
  set: Readonly<Record<string, unknown>>,
): [column: string, of: (to: string) => string][] {
  const columns = new Set(targets.flatMap((to) => Object.keys(states[to]!.entering ?? {})))
  const left = [...columns].filter((column) => !Object.hasOwn(set, column))
  return left.map((column) => [column, (to) => states[to]!.entering?.[column] ?? `work.${quote(column)}`])
}

const cases = <T>(of: string, items: readonly T[], each: (item: T) => readonly [when: string, then: string]) =>
  `case ${of} ${items
    .map(each)
    .map(([when, then]) => `when ${literal(when)} then ${then}`)
    .join(' ')} end`
