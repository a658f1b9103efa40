import { namesOf } from '../../app/records/names.ts'
import { retryRows } from '../../app/records/retry-rows.ts'
import { type Steered, type SteerInput, steer } from '../../app/records/steer.ts'
import { AppError, EXIT } from '../../base/errors.ts'
import type { RetryRequest } from '../../machines/retry.ts'
import { many } from '../format.ts'
import type { GlobalOptions } from '../options.ts'
import { onStderr } from '../screen/palette.ts'
import { terminal } from '../terminal.ts'
import { toType } from '../to-type.ts'
import { sayUnqueued } from '../unqueued.ts'
import { printChanged, withChosen } from './chosen.ts'
import type { Kind } from './kinds.ts'

/** How each change is reported. */
const DONE = { pause: 'paused', resume: 'queued again', cancel: 'sealed' } as const

/** How many rows are named one by one; the others are only counted. */
const NAMED = 20

/** `pause`, `resume`, `cancel`. Throws AppError (exit code 1) when the state of none of the rows allows it. */
export async function change<Row extends { readonly id: string; readonly status: string }>(
  options: GlobalOptions,
  kind: Kind<Row>,
  args: readonly string[],
  { noun, verb }: Pick<SteerInput, 'noun' | 'verb'>,
): Promise<void> {
  await withChosen(options, kind, args, async ({ open, rows, ids }) => {
    const tell = ({ changed, pausedCrawls }: Steered) => {
      if (changed.length > NAMED) terminal.say(`${DONE[verb]}: ${changed.length} ${noun}s`)
      else for (const id of changed) terminal.say(`${DONE[verb]}: ${id}`)
      for (const id of pausedCrawls) terminal.say(`crawl ${id} is paused: crawl resume ${id} goes on with it`)
    }
    const changed = new Set((await steer(open, { noun, verb, ids }, { tell })).changed)
    const others = rows.filter(({ id }) => !changed.has(id)).map(({ id, status }) => `${id} is ${status}`)
    if (changed.size === 0) throw new AppError(`cannot ${verb} any ${noun}: ${brief(others)}`)
    if (others.length > 0) terminal.say(`left as they are: ${brief(others)}`)
    await printChanged(
      options,
      open,
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

/** `retry`: another attempt of what ended without output. Returns 1 when all of it is on lost nodes. */
export async function retry<Row extends { readonly id: string }>(
  options: GlobalOptions,
  kind: Kind<Row>,
  args: readonly string[],
  verb: RetryOptions,
): Promise<unknown> {
  const narrowed: Pick<RetryRequest, 'failed' | 'plugins'> = {
    ...(verb.failed && { failed: true }),
    ...(verb.plugin !== undefined && { plugins: namesOf(verb.plugin, '--plugin') }),
  }
  return await withChosen(options, kind, args, async ({ open, ids }) => {
    const { results, snapshots, crawls, ...others } = await retryRows(open, { noun: kind.noun, ids, ...narrowed })
    sayUnqueued(others)
    if (results.length + snapshots + crawls.length === 0) {
      if (others.lost.length > 0) return EXIT.failed
      return terminal.say('nothing to retry')
    }
    const queued = `queued ${many(results.length, 'hook')} of ${many(snapshots, 'page')} again`
    const way = onStderr.bold(toType(options, 'archivebox-ts run'))
    terminal.say(`${queued}; earlier attempts are kept; ${way} works on them`)
    await printChanged(options, open, kind, kind.noun === 'result' ? results : ids)
  })
}
