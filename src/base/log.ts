import { appendFileSync, mkdirSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

export type Level = 'debug' | 'info' | 'warn' | 'error'
const ORDER: readonly Level[] = ['debug', 'info', 'warn', 'error']

/** Whose line it is, as far as somebody's. */
export interface LineIds {
  readonly runner_id?: string
  readonly crawl_id?: string
  readonly snapshot_id?: string
  readonly process_id?: string
}

/** How a page ended. */
export interface PageEnd {
  readonly url: string
  readonly title: string | null
  /** Null: nobody has judged it yet. */
  readonly outcome: 'archived' | 'partial' | 'failed' | null
  readonly cause: string | null
}

export interface LogLine {
  readonly level: Level
  /** Who says it: runner, crawl, snapshot, db. */
  readonly role: string
  readonly text: string
  readonly ids?: LineIds
  /** It says that a page ended. */
  readonly page?: PageEnd
}

/** Takes lines away: to the terminal, to a file, to the parent process. */
export type Sink = (line: LogLine) => void

/** What rooms below the command line get to speak through. */
export class Log {
  readonly #role: string
  readonly #sink: Sink
  readonly #ids: LineIds
  constructor(role: string, sink: Sink, ids: LineIds = {}) {
    this.#role = role
    this.#sink = sink
    this.#ids = ids
  }
  /** The same, for lines about something of which more is known. */
  about(ids: LineIds): Log {
    return new Log(this.#role, this.#sink, { ...this.#ids, ...ids })
  }
  debug(text: string): void {
    this.#say('debug', text)
  }
  info(text: string): void {
    this.#say('info', text)
  }
  warn(text: string): void {
    this.#say('warn', text)
  }
  error(text: string): void {
    this.#say('error', text)
  }
  /** Says that a page ended. */
  ended(page: PageEnd): void {
    this.#sink({ level: 'info', role: this.#role, text: endText(page), ids: this.#ids, page })
  }
  /** Passes on a line that another process said. */
  relay(line: LogLine): void {
    this.#sink(line)
  }
  #say(level: Level, text: string): void {
    this.#sink({ level, role: this.#role, text, ids: this.#ids })
  }
}

/** `archived https://example.org/`, `failed https://example.org/: HTTP 404` */
export function endText({ url, outcome, cause }: PageEnd): string {
  return `${outcome ?? 'sealed'} ${url}${cause === null ? '' : `: ${cause}`}`
}

/** Passes lines at or above `level` to `sink`. */
export function atLeast(level: Level, sink: Sink): Sink {
  return (line) => {
    if (ORDER.indexOf(line.level) >= ORDER.indexOf(level)) sink(line)
  }
}

export function toAll(...sinks: readonly Sink[]): Sink {
  return (line) => {
    for (const sink of sinks) sink(line)
  }
}

/** A log that is larger is moved aside, or cut (log-cap.ts). */
export const MAX_LOG_BYTES = 10 * 1024 * 1024

/**
 * Appends lines to a file, each with its UTC time. At 10 MB the file becomes `<file>.1`, in place of the one before.
 * Synchronous, so that the last words of a dying process are in it; a full disk costs lines, never the work.
 */
export function toFile(file: string): Sink {
  return ({ level, role, text }) => {
    try {
      // Others write to it, too: only the file knows how large it is.
      const size = statSync(file, { throwIfNoEntry: false })?.size
      if (size === undefined) mkdirSync(dirname(file), { recursive: true })
      else if (size > MAX_LOG_BYTES) renameSync(file, `${file}.1`)
      appendFileSync(file, `${new Date().toISOString()} ${level} ${role}: ${text}\n`, { mode: 0o600 })
    } catch {
      // As is said above.
    }
  }
}
