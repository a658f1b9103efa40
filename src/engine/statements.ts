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
  // PostgreSQL cuts names at 63 bytes; the hash comes first, so that what is cut off does not matter.
  return { name: `${createHash('sha1').update(text).digest('hex').slice(0, 12)}:${machine.name}:${verb}`.slice(0, 60), text: text.trim() }
}

/**
 * A claim that a power cut undoes is a row that is due again: its commit need not wait for the disk. (Of this transaction only; whatever else
 * the caller does in it gets the same. Outcomes always wait.)
 */
const RELAXED = "(select set_config('synchronous_commit', 'off', true)) as relaxed"

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
  const { fence, from, take } = claimParts(machine, t, options, 4)
  // Materialized: a limit must not be applied again to a row that was waited for.
  return named(
    machine,
    `claim ${limit}`,
    `
    with ${fence}due as materialized (
      select ${seen(t)} ${from} and (work.${t.retryAt}, work.${t.id}) >= ($2::timestamptz, $3::${machine.idType})
      order by ${order(t, options)}
      limit ${limit}
      for no key update of work skip locked
    ), ${take}
    select taken.* from taken, ${RELAXED}`,
  )
}

/**
 * Parameters: lease in seconds, id, token, owner, those of `where` and `fence`. Claims this very row, if it is due. Whoever loses waits for
 * the winner's commit, and then finds the row not due any more.
 */
export function claimRowStatement(machine: Machine, options: QueueOptions): Statement {
  const t = tableOf(machine)
  const { fence, from, take } = claimParts(machine, t, options, 3)
  return named(
    machine,
    'claim row',
    `with ${fence}due as materialized (select ${seen(t)} ${from} and work.${t.id} = $2::${machine.idType} for no key update of work), ${take} select * from taken`,
  )
}

/**
 * Parameters: lease in seconds, token, owner, those of `where` and `fence`. Claims one row, picked at random out of the first `topN`: claimants
 * seldom meet, so none needs to step over another's locks. Answers with no row when nothing is due, and with a row of nulls when somebody
 * else was faster.
 */
export function pickStatement(machine: Machine, options: QueueOptions, topN: number): Statement {
  const t = tableOf(machine)
  const { fence, from, take } = claimParts(machine, t, options, 2, `and ${isDue(machine, t)}`)
  return named(
    machine,
    `pick ${topN}`,
    `
    with ${fence}top as materialized (
      select ${seen(t)} ${from} order by ${order(t, options)} limit ${topN}
    ), due as materialized (
      select * from top order by random() limit 1
    ), ${take}
    select taken.* from due left join taken on true`,
  )
}

/** What every claim has in common: the fence, which rows, and how they are taken. The token is parameter number `tokenAt`; owner and values follow. */
function claimParts(machine: Machine, t: Table, options: QueueOptions, tokenAt: number, recheck = '') {
  const valuesAt = tokenAt + (t.owner ? 2 : 1)
  const fence = options.fence?.(valuesAt + (options.whereValues ?? 0))
  return {
    fence: fence ? `fence as (${fence} for share), ` : '',
    from: `from ${t.name} as work${fence ? ', fence' : ''} where ${isDue(machine, t)}${options.where ? ` and ${options.where(valuesAt)}` : ''}`,
    // By an array of ids: a join over them is planned as a scan of the whole table while that is small.
    take: `changed as (
      update ${t.name} as work
      set ${t.retryAt} = now() + make_interval(secs => $1), ${t.token} = $${tokenAt}${t.owner ? `, ${t.owner} = $${tokenAt + 1}` : ''}${
        t.attempts ? `, ${t.attempts} = work.${t.attempts} + 1` : ''
      }${t.modified}
      where work.${t.id} = any(array(select id from due)) ${recheck}
      returning work.*
    ), taken as (
      select changed.*, due.was as engine_was, due.expired_owner as engine_expired_owner from changed join due on due.id = changed.${t.id}
    )`,
  }
}

const seen = (t: Table) =>
  `work.${t.id} as id, work.${t.retryAt}::text as was, ${t.owner ? `work.${t.owner}::text` : 'null::text'} as expired_owner`

/** Parameters: limit, those of `where`. Rows that are due, in the order of claims; claims nothing. */
export function dueStatement(machine: Machine, options: QueueOptions): Statement {
  const t = tableOf(machine)
  const where = options.where ? ` and ${options.where(2)}` : ''
  return named(
    machine,
    'due',
    `select work.* from ${t.name} as work where ${isDue(machine, t)}${where} order by ${order(t, options)} limit $1`,
  )
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

/** Parameters: id, token, state, a value for each of these columns. Writes what is not the engine's own. Throws TypeError for what is. */
export function updateStatement(machine: Machine, names: readonly string[]): Statement {
  const t = tableOf(machine)
  for (const name of names) {
    const own = Object.entries(machine.columns).find(([key, column]) => column === name && key !== 'modifiedAt')
    if (own)
      throw new TypeError(`state graph "${machine.name}": the column "${name}" (${own[0]}) is written by transitions and claims alone`)
  }
  const set = names.map((name, index) => `${quote(name)} = $${index + 4}`).join(', ')
  return named(
    machine,
    'update',
    `update ${t.name} set ${set}${t.modified} where ${t.id} = $1 and ${t.token} = $2 and ${t.status} = $3 returning ${t.id}::text as id`,
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

/** No parameters. The states of rows that the graph does not know, and how many: steps from state to state along the index, not through the rows. */
export function unknownStatement(machine: Machine): Statement {
  const t = tableOf(machine)
  return named(
    machine,
    'unknown',
    `
    with recursive present as (
      select min(${t.status}::text) as state from ${t.name}
      union all
      select (select min(${t.status}::text) from ${t.name} where ${t.status}::text > present.state) from present where present.state is not null
    )
    select state, (select count(*) from ${t.name} where ${t.status}::text = present.state)::float8 as count
    from present where state not in (${list(Object.keys(machine.states))})`,
  )
}

/** Due by the database's clock, and in a state in which rows are claimed. */
export const isDue = (machine: Machine, t: Table) => `work.${t.status} in (${list(workStates(machine))}) and work.${t.retryAt} <= now()`

export const order = (t: Table, { order: first }: QueueOptions) =>
  first === 'newest' ? `work.${t.retryAt} desc, work.${t.id} desc` : `work.${t.retryAt}, work.${t.id}`
