import type { GlobalOptions } from '../options.ts'
import { type Command, change, type Request, type RetryOptions, retryRows } from './change.ts'
import type { Kind } from './kinds.ts'
import { type ListOptions, list } from './list.ts'
import { type RemoveOptions, type Removing, remove } from './remove.ts'
import { show } from './show.ts'

/** One verb on the rows of one model: what was typed behind it, and its own options. It answers with its exit code. */
export type Verb<Options = object> = (
  options: GlobalOptions,
  args: readonly string[],
  verb: Options,
) => Promise<unknown>

/** The verbs that every model has. `request`: what `retry` runs again; `removing`: how `delete` does it. */
export function verbsOf<Row extends { readonly id: string; readonly status: string }>(
  kind: Kind<Row>,
  request: Request<Row>,
  removing: Removing<Row>,
) {
  const verbs: { list: Verb<ListOptions>; show: Verb; retry: Verb<RetryOptions>; delete: Verb<RemoveOptions> } = {
    list: (options, _args, verb) => list(options, kind, verb),
    show: (options, args) => show(options, kind, args),
    retry: (options, args, verb) => retryRows(options, kind, args, verb, request),
    delete: (options, args, verb) => remove(options, kind, args, verb, removing),
  }
  return verbs
}

/** A verb that sends an event. */
export function changing<Row extends { readonly id: string; readonly status: string }>(
  kind: Kind<Row>,
  command: Command<Row>,
): Verb {
  return (options, args) => change(options, kind, args, command)
}
