import type { Machine } from './machine.ts'
import type { Statement } from './sql.ts'
import { isDue, named, quote, type Table, tableOf } from './table.ts'
import { settleAlikeParameters, settledAlike } from './transition-statements.ts'

/** Restricts a queue. Fixed text, never input; its parameters are numbered from the given one. */
export interface QueueOptions {
  /** An additional condition on the row, named `work`: `(first) => 'work.kind = $' + first`. */
  readonly where?: (first: number) => string
  /** How many values `where` takes. */
  readonly whereValues?: number
  /**
   * A row that must exist, and is locked FOR SHARE, for a claim to succeed: the fence against claimants of an older
   * term. `(first) => 'select 1 from term where number = $' + first`. Its values follow those of `where`.
   */
  readonly fence?: (first: number) => string
  /** The columns in the `row` of a claim; by default all. Each costs time, wide ones most. */
  readonly columns?: readonly string[]
  /** More columns in the `row` of a claim, made of what is `taken`, and of the `fence`: `(select ...) as name`. */
  readonly besides?: string
  /** Which due rows come first; by default the oldest schedule. */
  readonly order?: 'oldest' | 'newest'
  /** The owner, and the values of `where` and `fence`, for claims that do not give them. */
  readonly owner?: string
  readonly values?: readonly unknown[]
  /**
   * Repeats a statement whose answer was lost; called with the work, which is told whether it was tried before. Without
   * it a statement is tried once.
   */
  readonly retry?: Retry
}

export type Retry = <T>(work: (isAgain: boolean) => Promise<T>) => Promise<T>

/**
 * A claim undone by a power cut is a due row again, so its commit need not wait for the disk. (This affects the whole
 * transaction, if the caller does more in it. Outcomes always wait.)
 */
const RELAXED = "(select set_config('synchronous_commit', 'off', true)) as relaxed"

/** The lowest id of each type: the cursor that skips nothing. */
export const LOWEST_ID = {
  uuid: '00000000-0000-0000-0000-000000000000',
  bigint: '-9223372036854775808',
  text: '',
} as const

/**
 * Parameters: lease in seconds, cursor (schedule, id), token, owner (when the table has one), values of `where` and
 * `fence`. The limit is part of the text: without it the planner assumes a tenth of the table. Row locks decide between
 * claimants.
 */
export function claimStatement(machine: Machine, options: QueueOptions, limit: number): Statement {
  const claim = claimOf(machine, options, limit)
  return named(machine, `claim ${limit}`, `\n    with ${claim}\n    select ${answered(options)} from taken, ${RELAXED}`)
}

/** The part of a claim that `claimStatement` and `settleAndClaimStatement` share. */
function claimOf(machine: Machine, options: QueueOptions, limit: number, onlyIf = ''): string {
  const t = tableOf(machine)
  const { fence, from, take } = claimParts(machine, t, options, { tokenAt: 4, one: limit === 1 })
  // Materialized: the limit must not be evaluated again after waiting for a row.
  return `${fence}due as materialized (
      select ${seen(t)} ${from} and ${ahead(machine, t)}${onlyIf}
      order by ${order(t, options)}
      limit ${limit}
      for no key update of work skip locked
    ), ${take}`
}

/**
 * Parameters: those of `settleAlikeStatement`, then those of a claim. Ends a claim and, if it was ours, claims the
 * first due row in the same commit, which waits for the disk. Returns one row: `engine_ended`, and the claimed row or
 * nulls.
 */
export function settleAndClaimStatement(
  machine: Machine,
  options: QueueOptions,
  names: readonly string[],
  where?: string,
): Statement {
  const before = settleAlikeParameters(machine, names)
  const claim = claimOf(machine, options, 1, ' and exists (select from moved)')
  const renumbered = claim.replace(/\$(\d+)/g, (_, at) => `$${Number(at) + before}`)
  return named(
    machine,
    'settle and claim',
    `
    with ${settledAlike(machine, names, where)}, ${renumbered}
    select exists (select from moved) as engine_ended, ${answered(options)}
    from (values (true)) as one left join taken on true`,
  )
}

/**
 * Parameters: lease in seconds, id, token, owner, values of `where` and `fence`. Claims this row if it is due. The
 * loser waits for the winner's commit and then finds the row no longer due.
 */
export function claimRowStatement(machine: Machine, options: QueueOptions): Statement {
  const t = tableOf(machine)
  const { fence, from, take } = claimParts(machine, t, options, { tokenAt: 3, one: true })
  return named(
    machine,
    'claim row',
    `with ${fence}due as materialized (select ${seen(t)} ${from}
      and work.${t.id} = $2::${machine.idType} for no key update of work), ${take}
      select ${answered(options)} from taken`,
  )
}

/**
 * Parameters: as for a claim. Claims one row, picked at random from the first `topN`: claimants seldom collide, so none
 * skips another's locks. Returns no row when nothing is due, and a row of nulls when another claimant was faster.
 */
export function pickStatement(machine: Machine, options: QueueOptions, topN: number): Statement {
  const t = tableOf(machine)
  const { fence, from, take } = claimParts(machine, t, options, {
    tokenAt: 4,
    one: true,
    recheck: `and ${isDue(machine, t)}`,
  })
  return named(
    machine,
    `pick ${topN}`,
    `
    with ${fence}top as materialized (
      select ${seen(t)} ${from} and ${ahead(machine, t)} order by ${order(t, options)} limit ${topN}
    ), due as materialized (
      select id, (select min(was) from top) as was, expired_owner from top order by random() limit 1
    ), ${take}
    select ${answered(options)} from due left join taken on true`,
  )
}

/**
 * The common parts of all claims: the fence, the candidates, the update. The token is parameter `tokenAt`; owner and
 * values follow.
 */
function claimParts(
  machine: Machine,
  t: Table,
  options: QueueOptions,
  { tokenAt, one, recheck = '' }: { readonly tokenAt: number; readonly one: boolean; readonly recheck?: string },
) {
  const valuesAt = tokenAt + (t.owner ? 2 : 1)
  const fence = options.fence?.(valuesAt + (options.whereValues ?? 0))
  const owned = t.owner ? `, ${t.owner} = $${tokenAt + 1}` : ''
  const counted = t.attempts ? `, ${t.attempts} = work.${t.attempts} + 1` : ''
  return {
    fence: fence ? `fence as (${fence} for share), ` : '',
    from: `from ${t.name} as work${fence ? ', fence' : ''}
      where ${isDue(machine, t)}${options.where ? ` and ${options.where(valuesAt)}` : ''}`,
    // By an id or an array of ids: a join would be planned as a scan of the whole table while it is small.
    take: `changed as (
      update ${t.name} as work
      set ${t.retryAt} = now() + make_interval(secs => $1), ${t.token} = $${tokenAt}${owned}${counted}${t.modified}
      where work.${t.id} = ${one ? '(select id from due)' : 'any(array(select id from due))'} ${recheck}
      returning ${returned(machine, options)}
    ), taken as (
      select changed.*, due.was::text as engine_was, due.expired_owner as engine_expired_owner
      from changed join due on due.id = changed.${t.id}
    )`,
  }
}

/** What a claim answers. */
const answered = ({ besides }: QueueOptions) => (besides ? `taken.*, ${besides}` : 'taken.*')

function returned({ columns: { id, status, attempts } }: Machine, { columns }: QueueOptions): string {
  if (!columns) return 'work.*'
  const names = new Set([id, status, ...(attempts ? [attempts] : []), ...columns])
  return [...names].map((name) => `work.${quote(name)}`).join(', ')
}

const ahead = ({ idType }: Machine, t: Table) => `(work.${t.retryAt}, work.${t.id}) >= ($2::timestamptz, $3::${idType})`

const seen = (t: Table) =>
  `work.${t.id} as id, work.${t.retryAt} as was, ${t.owner ? `work.${t.owner}::text` : 'null::text'} as expired_owner`

/** Parameters: limit, values of `where`. The due rows in the order of claims; claims nothing. */
export function dueStatement(machine: Machine, options: QueueOptions): Statement {
  const t = tableOf(machine)
  const where = options.where ? ` and ${options.where(2)}` : ''
  return named(
    machine,
    'due',
    `select work.* from ${t.name} as work where ${isDue(machine, t)}${where} order by ${order(t, options)} limit $1`,
  )
}

export const order = (t: Table, { order: first }: QueueOptions) =>
  first === 'newest' ? `work.${t.retryAt} desc, work.${t.id} desc` : `work.${t.retryAt}, work.${t.id}`
