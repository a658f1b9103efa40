import { AppError } from '../../base/errors.ts'
import type { Home } from '../../db/home.ts'
import { type RetryRequest, retry } from '../../machines/retry.ts'
import { adoptedNote } from '../adopted-note.ts'
import { many } from '../format.ts'
import { namesOf } from '../names.ts'
import type { GlobalOptions } from '../options.ts'
import { onStderr } from '../screen/palette.ts'
import { terminal } from '../terminal.ts'
import { printChanged, withChosen } from './chosen.ts'
import type { Kind } from './kinds.ts'

/** Something that people do to rows. */
export interface Command<Row> {
  readonly verb: string
  /** What is said of a row that it was done to. */
  readonly done: string
  /** Answers with the ids of those whose state allowed it. */
  readonly send: (home: Home, ids: readonly string[]) => Promise<string[]>
  /** What is to be done besides, for the rows that it was done to. */
  readonly after?: (home: Home, rows: readonly Row[]) => Promise<void>
}

/** Rows that are named one by one; of more, only their number is said. */
const NAMED = 20

/** `pause`, `resume`, `cancel`. Throws AppError (exit code 1) when the state of none of the rows allows it. */
export async function change<Row extends { readonly id: string; readonly status: string }>(
  options: GlobalOptions,
  kind: Kind<Row>,
  args: readonly string[],
  { verb, done, send, after }: Command<Row>,
): Promise<void> {
  await withChosen(options, kind, args, async ({ home, rows, ids }) => {
    const changed = new Set(await send(home, ids))
    const others = rows.filter(({ id }) => !changed.has(id)).map(({ id, status }) => `${id} is ${status}`)
    if (changed.size === 0) throw new AppError(`no ${kind.noun} to ${verb}: ${brief(others)}`)
    if (changed.size > NAMED) terminal.say(`${done}: ${changed.size} ${kind.noun}s`)
    else for (const id of changed) terminal.say(`${done}: ${id}`)
    await after?.(
      home,
      rows.filter(({ id }) => changed.has(id)),
    )
    if (others.length > 0) terminal.say(`left as they are: ${brief(others)}`)
    await printChanged(
      options,
      home,
      kind,
      ids.filter((id) => changed.has(id)),
    )
  })
}

function brief(sentences: readonly string[]): string {
  const more = sentences.length - NAMED
  return more > 0 ? `${sentences.slice(0, NAMED).join(', ')}, and ${more} more` : sentences.join(', ')
}

export interface RetryOptions {
  readonly failed?: boolean
  readonly plugin?: string
}

/** What is to be run again of these rows; `narrowed` holds what --failed and --plugin say. */
export type Request<Row> = (rows: readonly Row[], narrowed: Pick<RetryRequest, 'failed' | 'plugins'>) => RetryRequest

/** `retry`: another attempt of what ended without an output. */
export async function retryRows<Row extends { readonly id: string }>(
  options: GlobalOptions,
  kind: Kind<Row>,
  args: readonly string[],
  verb: RetryOptions,
  request: Request<Row>,
): Promise<void> {
  const narrowed: Pick<RetryRequest, 'failed' | 'plugins'> = {
    ...(verb.failed && { failed: true }),
    ...(verb.plugin !== undefined && { plugins: namesOf(verb.plugin, '--plugin') }),
  }
  await withChosen(options, kind, args, async ({ home, rows, ids }) => {
    const { results, snapshots, crawls, adopted } = await retry(home.db, request(rows, narrowed))
    if (adopted.length > 0) terminal.say(adoptedNote(adopted))
    if (results.length + snapshots + crawls.length === 0) return terminal.say('nothing to run again')
    const queued = `queued ${many(results.length, 'hook')} of ${many(snapshots, 'page')} again`
    terminal.say(`${queued}; earlier attempts stay; ${onStderr.bold('archivebox-ts run')} works on them`)
    await printChanged(options, home, kind, kind.noun === 'result' ? results : ids)
  })
}
