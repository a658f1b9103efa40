import { GraphError, type Machine, type State } from './machine.ts'
import { joined, type Text, text } from './sql.ts'
import { literal, quote, tableOf } from './table.ts'
import { dueIn } from './transition-text.ts'

export interface Birth<M extends Machine, X> {
  /** The name of the new rows in the statement: `id`, `to_status`. */
  readonly as: string
  /** Their columns, over the items of `source`; status and schedule are the graph's. */
  readonly columns: Readonly<Record<string, Text<X>>>
  /** What follows `from` in the select: items and conditions; '' for a row of its own. */
  readonly source: Text<X>
  /** The state in which they begin; with `when`, only those for which it holds, and the others in the initial one. */
  readonly state: State<M>
  readonly when?: Text<X>
  /** The event of that move, and its author, for the history; a row that others have brought to its state has none. */
  readonly event?: { readonly name: string; readonly by: Text<X> }
  /** For rows that exist already. */
  readonly onConflict?: string
  readonly returning?: Text<X>
}

/** Adds rows that begin in another state than the initial one. */
export function born<M extends Machine, X = never>(machine: M, birth: Birth<M, X>): (string | X)[] {
  const { as, columns, source, state, when, event, onConflict = '', returning } = birth
  const t = tableOf(machine)
  const { initial } = machine
  const either = (value: (to: string) => string): Text<X> =>
    when === undefined ? value(state) : text<X>`case when ${when} then ${value(state)} else ${value(initial)} end`
  const all: readonly (readonly [name: string, value: Text<X>])[] = [
    ...Object.entries(columns).map(([column, value]) => [quote(column), value] as const),
    [t.status, either(literal)],
    ...(machine.heldBy ? [] : [[t.retryAt, either((to) => dueIn(machine, to))] as const]),
  ]
  const insert = text<X>`${as} as (
      insert into ${t.name} as work (${all.map(([name]) => name).join(', ')})
      select ${joined<X>(
        all.map(([, value]) => value),
        ', ',
      )}${source === '' ? '' : text<X>` from ${source}`}
      ${onConflict} returning work.${t.id} as id, work.${t.status} as to_status${
        returning === undefined ? [] : text<X>`, ${returning}`
      }
    )`
  if (!event || !machine.history) return insert
  return joined<X>(
    [
      insert,
      text<X>`${as}_logged as (
      insert into transition (model, row_id, from_status, to_status, event, process_id)
      select ${literal(machine.name)}, id, ${literal(initial)}, to_status, ${literal(event.name)}, ${event.by}
      from ${as} where to_status = ${literal(state)}
    )`,
    ],
    ', ',
  )
}

/** Rows that have moved already when they are added, each along an edge of its own. */
export interface BirthEach<X> {
  readonly as: string
  /** The item of the statement that they are made of: `id`, `event`, and whatever `columns` reads, as `change`. */
  readonly changes: string
  /** Further items, and conditions: what follows `changes` in the select. */
  readonly source: Text<X>
  /** All columns but id and status, those included that the graph would set. */
  readonly columns: Readonly<Record<string, Text<X>>>
  readonly by: Text<X>
  readonly returning?: Text<X>
}

/**
 * Adds rows that have each moved along an edge out of the initial state already: so their history says, too. Only for
 * rows that are held by others. Throws GraphError for any others.
 */
export function bornEach<X = never>(machine: Machine, birth: BirthEach<X>): (string | X)[] {
  const { as, changes, source, columns, by, returning } = birth
  const { initial, name, heldBy, history } = machine
  if (!heldBy) throw new GraphError(machine, 'its rows have a schedule, and begin in one state')
  const t = tableOf(machine)
  const edges = Object.entries(machine.states[initial]!.on ?? {})
    .filter(([, to]) => to !== initial)
    .map(([event, to]) => `(${literal(event)}, ${literal(to)})`)
  const insert = text<X>`${as} as (
      insert into ${t.name} as work (${[t.id, t.status, ...Object.keys(columns).map(quote)].join(', ')})
      select change.id, edge.to_status, ${joined<X>(Object.values(columns), ', ')}
      from ${changes} as change join (values ${edges.join(', ')}) as edge (event, to_status) using (event) ${source}
      returning work.${t.id} as id, work.${t.status} as to_status${
        returning === undefined ? [] : text<X>`, ${returning}`
      }
    )`
  if (!history) return insert
  return [
    ...insert,
    ...text<X>`, ${as}_logged as (
      insert into transition (model, row_id, from_status, to_status, event, process_id)
      select ${literal(name)}, ${as}.id, ${literal(initial)}, ${as}.to_status, change.event, ${by}::uuid
      from ${as} join ${changes} as change on change.id = ${as}.id
    )`,
  ]
}
