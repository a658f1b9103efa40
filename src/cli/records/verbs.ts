import type { SteerInput } from '../../app/records/steer.ts'
import type { GlobalOptions } from '../options.ts'
import { change, type RetryOptions, retry } from './change.ts'
import type { Kind } from './kinds.ts'
import { type ListOptions, list } from './list.ts'
import { deleteRows, type RemoveOptions } from './remove.ts'
import { show } from './show.ts'

/** One verb on the rows of one model, with its arguments and own options. Returns its exit code. */
export type Verb<Options = object> = (
  options: GlobalOptions,
  args: readonly string[],
  verb: Options,
) => Promise<unknown>

/** The verbs of every model. */
export function verbsOf<Row extends { readonly id: string; readonly status: string }>(kind: Kind<Row>) {
  const verbs: { list: Verb<ListOptions>; show: Verb; retry: Verb<RetryOptions>; delete: Verb<RemoveOptions> } = {
    list: (options, _args, verb) => list(options, kind, verb),
    show: (options, args) => show(options, kind, args),
    retry: (options, args, verb) => retry(options, kind, args, verb),
    delete: (options, args, verb) => deleteRows(options, kind, args, verb),
  }
  return verbs
}

/** The verbs that steer crawls and pages. */
export function steeringOf<Row extends { readonly id: string; readonly status: string }>(
  kind: Kind<Row>,
  noun: SteerInput['noun'],
) {
  const verbs: Record<SteerInput['verb'], Verb> = {
    pause: (options, args) => change(options, kind, args, { noun, verb: 'pause' }),
    resume: (options, args) => change(options, kind, args, { noun, verb: 'resume' }),
    cancel: (options, args) => change(options, kind, args, { noun, verb: 'cancel' }),
  }
  return verbs
}
