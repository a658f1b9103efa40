import { type Machine, type State, workStates } from './machine.ts'
import { also } from './moved.ts'
import { joined, type Text, text } from './sql.ts'
import { list, tableOf } from './table.ts'
import { FAR } from './transition-text.ts'

/** Makes rows due at once, as `as`, that nobody holds and that wait for a later moment. */
export function woken<M extends Machine, X = never>(
  machine: M,
  {
    as,
    rows,
    states,
    set = {},
  }: {
    readonly as: string
    readonly rows: Text<X>
    readonly states: readonly State<M>[]
    readonly set?: Readonly<Record<string, Text<X>>>
  },
): (string | X)[] {
  const t = tableOf(machine)
  const later = Object.keys(set).length > 0 ? '' : ` and work.${t.retryAt} > now()`
  return text<X>`${as} as (
      update ${t.name} as work set ${t.retryAt} = now()${t.modified}${joined<X>(also(set), '')}
      where work.${t.id} = any(${rows}) and work.${t.status} in (${list(states)})
        and work.${t.token} is null${later}
      returning work.${t.id} as id
    )`
}

/** Gives rows, as `as`, the schedule of their state, if they have none, or that of another state. */
export function rescheduled(machine: Machine, as: string): string {
  const t = tableOf(machine)
  const due = `case when work.${t.status} in (${list(externalStates(machine))}) then ${FAR} else now() end`
  return `${as} as (
      update ${t.name} as work set ${t.retryAt} = ${due}${t.modified}
      where ${isMisscheduled(machine)} returning work.${t.id} as id
    )`
}

/** Whether this row, `work`, has a schedule that its state does not know. */
export function isMisscheduled(machine: Machine): string {
  const t = tableOf(machine)
  return `(work.${t.status} in (${list(workStates(machine))}) and work.${t.retryAt} is null
        or work.${t.status} in (${list(externalStates(machine))}) and work.${t.retryAt} is distinct from ${FAR})`
}

const externalStates = ({ states }: Machine) => Object.keys(states).filter((state) => states[state]!.external)
