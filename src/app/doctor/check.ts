import { sleep } from '../../base/abort.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import type { Problems } from '../../base/problems.ts'
import type { Configured } from '../archive.ts'
import type { Call } from '../call.ts'
import type { OpenEvent } from '../open/events.ts'

/** What is examined: the settings, with the problems found in them. */
export interface Examined extends Configured {
  readonly problems: Problems
  /** The URL from the command line, which everybody sees who lists processes. */
  readonly databaseUrlGiven?: string | undefined
}

/** Green: fine. Yellow: something will be missing or slow. Red: no page can be archived like this. */
export type Status = 'green' | 'yellow' | 'red'

/** What a check found. */
export interface Finding {
  readonly status: Status
  readonly message: string
  /** What fixes it: a command, if possible. */
  readonly command?: string
  /** Fixes it here and now, without special rights; returns what it did. */
  readonly fix?: (call: Call<OpenEvent>) => Promise<string>
}

/** One or more things to look at; it changes nothing. */
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

/** A finding as a record, for programs. */
export function checkRecord({ name, status, message, command }: Found) {
  return { type: 'Check', name, status, message, command: command ?? null } as const
}

/** Runs all checks at once, and keeps their order; one that takes longer than `ms` is yellow, one that fails is red. */
export async function examine(asked: Examined, checks: readonly Check[], ms: number): Promise<Found[]> {
  const over = new AbortController()
  const late = sleep(ms, over.signal).then(() => yellow(`no answer after ${ms / 1000} s`))
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
