import { createHash } from 'node:crypto'
import { type Columns, type Machine, workStates } from './machine.ts'
import type { Statement } from './sql.ts'

/** A machine's table with its names quoted, for SQL text. */
export interface Table extends Partial<Columns> {
  readonly name: string
  readonly id: string
  readonly status: string
  readonly retryAt: string
  readonly token: string
  /**
   * Assignments that end a claim, and that record a change of state, its author, or any change; '' without such a
   * column.
   */
  readonly unclaim: string
  readonly changed: string
  readonly moved: (token: string) => string
  readonly modified: string
}

export function tableOf(machine: Machine): Table {
  const columns = Object.fromEntries(
    Object.entries(machine.columns).map(([key, name]) => [key, quote(name)]),
  ) as unknown as Columns
  return {
    ...columns,
    name: quote(machine.table),
    unclaim: `${columns.token} = null${columns.owner ? `, ${columns.owner} = null` : ''}`,
    changed: columns.changedAt ? `, ${columns.changedAt} = now()` : '',
    moved: (token) => (columns.movedBy ? `, ${columns.movedBy} = ${token}` : ''),
    modified: columns.modifiedAt ? `, ${columns.modifiedAt} = now()` : '',
  }
}

/**
 * Assignments of parameters, from `$first` on, to columns that are not the engine's. Throws TypeError for one that is.
 */
export function assignments(machine: Machine, names: readonly string[], first: number): string[] {
  for (const name of names) {
    const own = Object.entries(machine.columns).find(([key, column]) => column === name && key !== 'modifiedAt')
    if (own)
      throw new TypeError(
        `state graph "${machine.name}": the column "${name}" (${own[0]}) is written only by transitions and claims`,
      )
  }
  return names.map((name, index) => `${quote(name)} = $${index + first}`)
}

export const quote = (name: string) =>
  name
    .split('.')
    .map((part) => `"${part.replaceAll('"', '""')}"`)
    .join('.')
export const literal = (text: string) => `'${text.replaceAll("'", "''")}'`
export const list = (texts: readonly string[]) => texts.map(literal).join(', ') || 'null'

/**
 * Prepared statements are kept by name while a connection lives, so the name must identify the text. It is made when
 * first asked for: not every `Sql` names its statements.
 */
export function named(machine: Machine, verb: string, text: string): Statement {
  let name: string | undefined
  return {
    // PostgreSQL truncates names at 63 bytes; the hash comes first, so that it survives.
    get name() {
      name ??= `${createHash('sha1').update(text).digest('hex').slice(0, 12)}:${machine.name}:${verb}`.slice(0, 60)
      return name
    },
    text: text.trim(),
  }
}

/** Due by the database's clock, and in a state in which rows are claimed. */
export const isDue = (machine: Machine, t: Table) =>
  `work.${t.status} in (${list(workStates(machine))}) and work.${t.retryAt} <= now()`
