import { appendFileSync, mkdirSync, renameSync, rmdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Happened } from './log-events.ts'
import { shortProcess } from './log-lines.ts'
import { withoutUrlSecrets } from './url-secrets.ts'

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
  /** The source: runner, crawl, snapshot, db. */
  readonly role: string
  readonly text: string
  readonly ids?: LineIds
  /** What happened, for programs; without it the line is a note, or the end of a page. */
  readonly happened?: Happened
  /** Set when the line reports the end of a page. */
  readonly page?: PageEnd
}

/** Where lines go: the terminal, a file, the parent process. */
export type Sink = (line: LogLine) => void

/** The log for rooms below the command line. Its lines have no URL secrets. */
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
  debug(text: string, happened?: Happened): void {
    this.#say('debug', text, happened)
  }
  info(text: string, happened?: Happened): void {
    this.#say('info', text, happened)
  }
  warn(text: string, happened?: Happened): void {
    this.#say('warn', text, happened)
  }
  error(text: string, happened?: Happened): void {
    this.#say('error', text, happened)
  }
  /** Reports the end of a page. */
  ended(page: PageEnd): void {
    const { url, title, cause } = page
    const masked = (text: string | null) => text && withoutUrlSecrets(text)
    const said = { ...page, url: withoutUrlSecrets(url), title: masked(title), cause: masked(cause) }
    this.#sink({ level: 'info', role: this.#role, text: endText(page), ids: this.#ids, page: said })
  }
  /** Passes on a line of another process. */
  relay(line: LogLine): void {
    this.#sink(line)
  }
  #say(level: Level, text: string, happened?: Happened): void {
    const line = { level, role: this.#role, text: withoutUrlSecrets(text), ids: this.#ids }
    this.#sink(happened ? { ...line, happened } : line)
  }
}

/** `archived https://example.org/`, `failed https://example.org/: HTTP 404` */
export function endText({ url, outcome, cause }: PageEnd): string {
  return withoutUrlSecrets(`${outcome ?? 'sealed'} ${url}${cause === null ? '' : `: ${cause}`}`)
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

/** How long others wait for a writer that died while it moved a log aside. */
const MOVING_MS = 60_000

/**
 * Moves a full log to `<file>.1`. All its writers see at the same time that it is full: the one that creates the folder
 * looks again and moves it, so that the log that was just moved is not replaced by one of a single line.
 */
function moveAside(file: string): void {
  const turn = `${file}.moving`
  try {
    mkdirSync(turn)
  } catch {
    const since = statSync(turn, { throwIfNoEntry: false })?.mtimeMs
    if (since !== undefined && Date.now() - since > MOVING_MS) rmdirSync(turn)
    return
  }
  try {
    const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
    if (size > MAX_LOG_BYTES) renameSync(file, `${file}.1`)
  } finally {
    rmdirSync(turn)
  }
}

/**
 * Appends lines to a file, each with its UTC time and the last digits of the id of its process. At 10 MB the file
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
      else if (size > MAX_LOG_BYTES) moveAside(file)
      appendFileSync(file, `${new Date().toISOString()} ${level} ${who}: ${text}\n`, { mode: 0o600 })
    } catch {
      // See above.
    }
  }
}
