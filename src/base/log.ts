import { appendFileSync, mkdirSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { shortProcess } from './log-lines.ts'

export type Level = 'debug' | 'info' | 'warn' | 'error'
const ORDER: readonly Level[] = ['debug', 'info', 'warn', 'error']

/** The rows that a line is about, if any. */
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
  /** Null: not judged yet. */
  readonly outcome: 'archived' | 'partial' | 'failed' | null
  readonly cause: string | null
}

export interface LogLine {
  readonly level: Level
  /** The speaker: runner, crawl, snapshot, db. */
  readonly role: string
  readonly text: string
  readonly ids?: LineIds
  /** Set when the line reports the end of a page. */
  readonly page?: PageEnd
}

/** Where lines go: the terminal, a file, the parent process. */
export type Sink = (line: LogLine) => void

/** The log for rooms below the command line. */
export class Log {
  readonly #role: string
  readonly #sink: Sink
  readonly #ids: LineIds
  constructor(role: string, sink: Sink, ids: LineIds = {}) {
    this.#role = role
    this.#sink = sink
    this.#ids = ids
  }
  /** The same log, with ids added to its lines. */
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
  /** Reports the end of a page. */
  ended(page: PageEnd): void {
    this.#sink({ level: 'info', role: this.#role, text: endText(page), ids: this.#ids, page })
  }
  /** Passes on a line of another process. */
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

/** A larger log is moved aside or truncated (log-cap.ts). */
export const MAX_LOG_BYTES = 10 * 1024 * 1024

/**
 * Appends lines to a file, each with its UTC time and the last digits of the process that said it. At 10 MB the file
 * becomes `<file>.1`, replacing the previous one. Synchronous, so that a dying process's last lines are in it; a full
 * disk costs lines, never work.
 */
export function toFile(file: string): Sink {
  return ({ level, role, text, ids }) => {
    const who = ids?.process_id === undefined ? role : `${role} ${shortProcess(ids.process_id)}`
    try {
      // Other processes write to it, too: only the file system knows its size.
      const size = statSync(file, { throwIfNoEntry: false })?.size
      if (size === undefined) mkdirSync(dirname(file), { recursive: true })
      else if (size > MAX_LOG_BYTES) renameSync(file, `${file}.1`)
      appendFileSync(file, `${new Date().toISOString()} ${level} ${who}: ${text}\n`, { mode: 0o600 })
    } catch {
      // See above.
    }
  }
}
