import { sleep } from '../../base/abort.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import type { Problems } from '../../base/problems.ts'
import type { Configured } from '../archive.ts'
import type { Call } from '../call.ts'
import type { OpenEvent } from '../open/events.ts'

/** What is examined: settings, with what is wrong with them. */
export interface Examined extends Configured {
  readonly problems: Problems
  /** The URL as everybody sees it who lists processes. */
  readonly databaseUrlGiven?: string | undefined
}

/** Green: fine. Yellow: something will be missing or slow. Red: no page can be archived like this. */
export type Status = 'green' | 'yellow' | 'red'

/** What a check found. */
export interface Finding {
  readonly status: Status
  readonly message: string
  /** What mends it: a command, as far as one can. */
  readonly command?: string
  /** Mends it here and now, without any rights; answers with what it did. */
  readonly fix?: (call: Call<OpenEvent>) => Promise<string>
}

/** One thing to look at, or several of a kind; it changes nothing. */
export interface Check {
  readonly name: string
  readonly look: (examined: Examined) => Findings | Promise<Findings>
}
type Findings = Finding | readonly Finding[]

export const green = (message: string): Finding => ({ status: 'green', message })
export const yellow = (message: string, command?: string): Finding => ({
  status: 'yellow',
  message,
  ...(command !== undefined && { command }),
})
export const red = (message: string, command?: string): Finding => ({ ...yellow(message, command), status: 'red' })

/** A finding with the name of its check. */
export type Found = Finding & { readonly name: string }

/** What was found, for programs. */
export function checkRecord({ name, status, message, command }: Found) {
  return { type: 'Check', name, status, message, command: command ?? null } as const
}

/** Looks at all of it at once; what takes longer than `ms` is yellow, what fails is red. In the order of the checks. */
export async function examine(asked: Examined, checks: readonly Check[], ms: number): Promise<Found[]> {
  const over = new AbortController()
  const late = sleep(ms, over.signal).then(() => yellow(`not known after ${ms / 1000} s`))
  const look = async ({ name, look }: Check): Promise<Found[]> => {
    const found = await Promise.race([(async () => await look(asked))(), late]).catch(refused)
    return [found].flat().map((finding) => ({ name, ...finding }))
  }
  try {
    return (await Promise.all(checks.map(look))).flat()
  } finally {
    over.abort()
  }
}

function refused(error: unknown): Finding {
  return red(messageOf(error), error instanceof AppError ? error.hint : undefined)
}
