import type { Machine } from './machine.ts'
import type { Statement } from './sql.ts'
import { assignments, named, type Table, tableOf } from './table.ts'

/** Parameters: ids, tokens, lease in seconds. Returns the ids that are still ours. */
export function renewStatement(machine: Machine): Statement {
  const t = tableOf(machine)
  return named(
    machine,
    'renew',
    `
    update ${t.name} as work set ${t.retryAt} = now() + make_interval(secs => $3)
    from unnest($1::${machine.idType}[], $2::uuid[]) as held (id, token)
    where work.${t.id} = any($1::${machine.idType}[]) -- as with claims: no plan may depend on how large the batch is
      and work.${t.id} = held.id and work.${t.token} = held.token
    returning work.${t.id}::text as id`,
  )
}

/** Parameters: id, token, state, a value for each of these columns. Throws TypeError for a column of the engine. */
export function updateStatement(machine: Machine, names: readonly string[]): Statement {
  const t = tableOf(machine)
  return named(
    machine,
    'update',
    `update ${t.name} set ${assignments(machine, names, 4).join(', ')}${t.modified}
    where ${t.id} = $1 and ${t.token} = $2 and ${t.status} is not distinct from $3 returning ${t.id}::text as id`,
  )
}

/** Parameters: id, token, delay in seconds, whether the attempt counts. */
export function releaseStatement(machine: Machine): Statement {
  const t = tableOf(machine)
  return named(
    machine,
    'release',
    `
    update ${t.name} set ${t.retryAt} = now() + make_interval(secs => $3), ${t.unclaim}${counted(t, 4)}${t.modified}
    where ${t.id} = $1 and ${t.token} = $2${t.attempts ? '' : ' and $4::boolean is not null'}
    returning ${t.id}::text as id`,
  )
}

/**
 * Parameters: owners (or tokens, where the table has no owner), whether the attempt counts. The only statement that
 * takes a future schedule from its owner.
 */
export function requeueStatement(machine: Machine): Statement {
  const t = tableOf(machine)
  return named(
    machine,
    'requeue',
    `
    update ${t.name} set ${t.retryAt} = now(), ${t.unclaim}${counted(t, 2)}${t.modified}
    where ${t.owner ?? t.token} = any($1)${t.attempts ? '' : ' and $2::boolean is not null'}
    returning ${t.id}::text as id`,
  )
}

/**
 * Parameters: token, owner (when the table has one). Undoes a claim whose answer was lost: otherwise the row would stay
 * claimed, unknown to its owner, for a whole lease.
 */
export function unclaimStatement(machine: Machine): Statement {
  const t = tableOf(machine)
  return named(
    machine,
    'unclaim',
    `
    update ${t.name} set ${t.retryAt} = now(), ${t.unclaim}${t.attempts ? `, ${t.attempts} = ${t.attempts} - 1` : ''}
    where ${t.owner ? `${t.owner} = $2 and ` : ''}${t.token} = $1
    returning ${t.id}::text as id`,
  )
}

/** Parameters: owners, seconds. Which of them hold a row, and whether a lease ended more than that long ago. */
export function holdersStatement(machine: Machine): Statement {
  const t = tableOf(machine)
  return named(
    machine,
    'holders',
    `
    select ${t.owner}::text as owner, bool_or(${t.retryAt} < now() - make_interval(secs => $2)) as late
    from ${t.name} where ${t.owner} = any($1) group by 1`, // No cast, so that an index on owners can be used.
  )
}

/** Parameters: id, token. Resets the count of earlier attempts. */
export function forgetStatement(machine: Machine): Statement {
  const t = tableOf(machine)
  return named(
    machine,
    'forget',
    `
    update ${t.name} set ${t.attempts} = 1 where ${t.id} = $1 and ${t.token} = $2 and ${t.attempts} > 1
    returning ${t.id}::text as id`,
  )
}

/** How the count of attempts changes, where a table has one: parameter `at` says whether this one counts. */
const counted = ({ attempts }: Table, at: number) =>
  attempts ? `, ${attempts} = case when $${at}::boolean then ${attempts} else greatest(${attempts} - 1, 0) end` : ''
