import { createHash } from 'node:crypto'
import { type Columns, type Machine, workStates } from './machine.ts'
import type { Statement } from './sql.ts'

/** What narrows a queue down. Fixed text, never input; its parameters are numbered from the one that is handed in. */
export interface QueueOptions {
  /** A further condition on the row, which is called `work`: `(first) => 'work.kind = $' + first`. */
  readonly where?: (first: number) => string
  /** How many values `where` takes with each claim. */
  readonly whereValues?: number
  /**
   * A row that must be there, and is locked FOR SHARE, for a claim to succeed: the fence against claimants of an older term.
   * `(first) => 'select 1 from term where number = $' + first`. Its values follow those of `where`.
   */
  readonly fence?: (first: number) => string
  /** Which due rows come first; by schedule, the oldest, when not given. */
  readonly order?: 'oldest' | 'newest'
}

/** A machine's table with its names quoted, for statements that are written out whole. */
export interface Table extends Partial<Columns> {
  readonly name: string
  readonly id: string
  readonly status: string
  readonly retryAt: string
  readonly token: string
  /** Assignments that end a claim, and that mark a change of state or any change; '' where the table has no such column. */
  readonly unclaim: string
  readonly changed: string
  readonly modified: string
}

export function tableOf(machine: Machine): Table {
  const columns = Object.fromEntries(Object.entries(machine.columns).map(([key, name]) => [key, quote(name)])) as unknown as Columns
  return {
    ...columns,
    name: quote(machine.table),
    unclaim: `${columns.token} = null${columns.owner ? `, ${columns.owner} = null` : ''}`,
    changed: columns.changedAt ? `, ${columns.changedAt} = now()` : '',
    modified: columns.modifiedAt ? `, ${columns.modifiedAt} = now()` : '',
  }
}

export const quote = (name: string) =>
  name
    .split('.')
    .map((part) => `"${part.replaceAll('"', '""')}"`)
    .join('.')
export const literal = (text: string) => `'${text.replaceAll("'", "''")}'`
export const list = (texts: readonly string[]) => texts.map(literal).join(', ') || 'null'

/** Prepared statements are kept by name for as long as a connection lives: the name says what the text is. */
export function named(machine: Machine, verb: string, text: string): Statement {
  return { name: `${machine.name.slice(0, 24)}:${verb}:${createHash('sha1').update(text).digest('hex').slice(0, 12)}`, text: text.trim() }
}

/** The lowest id of each type: a cursor that steps over nothing. */
export const LOWEST_ID = { uuid: '00000000-0000-0000-0000-000000000000', bigint: '-9223372036854775808', text: '' } as const

/**
 * Parameters: lease in seconds, cursor (schedule, id), token, owner (when the table names one), then those of `where` and `fence`.
 * The limit is part of the text: a planner that does not know it plans for a tenth of the table.
 * The row locks decide between claimants. The cursor steps over the dead head that a busy queue leaves in its index: without it, a claim
 * reads past every row that was claimed since the last vacuum.
 */
export function claimStatement(machine: Machine, options: QueueOptions, limit: number): Statement {
  const t = tableOf(machine)
  const first = t.owner ? 6 : 5
  const where = options.where ? ` and ${options.where(first)}` : ''
  const fence = options.fence?.(first + (options.whereValues ?? 0))
  return named(
    machine,
    `claim ${limit}`,
    `
    with ${fence ? `fence as (${fence} for share), ` : ''}due as materialized ( -- materialized: a limit must not be applied again to a row that was waited for
      select work.${t.id} as id, work.${t.retryAt}::text as was, ${t.owner ? `work.${t.owner}::text` : 'null::text'} as expired_owner
      from ${t.name} as work${fence ? ', fence' : ''}
      where ${due(machine, t)} and (work.${t.retryAt}, work.${t.id}) >= ($2::timestamptz, $3::${machine.idType})${where}
      order by ${order(t, options)}
      limit ${limit}
      for no key update of work skip locked
    )
    update ${t.name} as work
    set ${t.retryAt} = now() + make_interval(secs => $1), ${t.token} = $4${t.owner ? `, ${t.owner} = $5` : ''}${
      t.attempts ? `, ${t.attempts} = work.${t.attempts} + 1` : ''
    }${t.modified}
    from due where work.${t.id} = due.id
    returning work.*, due.was as engine_was, due.expired_owner as engine_expired_owner`,
  )
}

/** Parameters: limit. Rows that are due, in the order of claims; claims nothing. */
export function dueStatement(machine: Machine, options: QueueOptions): Statement {
  const t = tableOf(machine)
  return named(machine, 'due', `select work.* from ${t.name} as work where ${due(machine, t)} order by ${order(t, options)} limit $1`)
}

/** Parameters: ids, tokens, lease in seconds. Answers with the ids that are still ours. */
export function renewStatement(machine: Machine): Statement {
  const t = tableOf(machine)
  return named(
    machine,
    'renew',
    `
    update ${t.name} as work set ${t.retryAt} = now() + make_interval(secs => $3)
    from unnest($1::${machine.idType}[], $2::uuid[]) as held (id, token)
    where work.${t.id} = held.id and work.${t.token} = held.token
    returning work.${t.id}::text as id`,
  )
}

/** Parameters: id, token, delay in seconds, whether the attempt counts. */
export function releaseStatement(machine: Machine): Statement {
  const t = tableOf(machine)
  const attempts = t.attempts ? `, ${t.attempts} = case when $4 then ${t.attempts} else greatest(${t.attempts} - 1, 0) end` : ''
  return named(
    machine,
    'release',
    `
    update ${t.name} set ${t.retryAt} = now() + make_interval(secs => $3), ${t.unclaim}${attempts}${t.modified}
    where ${t.id} = $1 and ${t.token} = $2${t.attempts ? '' : ' and $4 is not null'}
    returning ${t.id}::text as id`,
  )
}

/** Parameters: owners (or tokens, where the table names no owner). The one statement that takes a future schedule from its owner. */
export function requeueStatement(machine: Machine): Statement {
  const t = tableOf(machine)
  const dead = t.owner ? `${t.owner}::text = any($1::text[])` : `${t.token}::text = any($1::text[])`
  return named(
    machine,
    'requeue',
    `update ${t.name} set ${t.retryAt} = now(), ${t.unclaim}${t.modified} where ${dead} returning ${t.id}::text as id`,
  )
}

/** One indexed count for each state: cheaper than grouping a table of which most rows are final. */
export function countsStatement(machine: Machine, states: readonly string[]): Statement {
  const t = tableOf(machine)
  const each = states.map((state) => `(select count(*) from ${t.name} where ${t.status} = ${literal(state)})::float8 as ${quote(state)}`)
  return named(machine, 'counts', `select ${each.join(', ')}`)
}

const due = (machine: Machine, t: Table) => `work.${t.status} in (${list(workStates(machine))}) and work.${t.retryAt} <= now()`

const order = (t: Table, { order: first }: QueueOptions) =>
  first === 'newest' ? `work.${t.retryAt} desc, work.${t.id} desc` : `work.${t.retryAt}, work.${t.id}`
