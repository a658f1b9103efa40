import { once } from 'node:events'
import { getSystemErrorMessage } from 'node:util'
import { coloured, escapedJson, harmless, legible } from '../base/clean.ts'
import { AppError, EXIT, messageOf, UsageErrors } from '../base/errors.ts'
import { atLeast, type Level, type LineIds, type LogLine, type Sink } from '../base/log.ts'
import type { GlobalOptions } from './options.ts'
import { canvasOn } from './screen/canvas.ts'
import { wrappedUncut } from './screen/flow.ts'
import { refoot } from './screen/frame.ts'
import { pageEndLine } from './screen/page-end.ts'
import { isDumb, onStderr } from './screen/palette.ts'
import { widthOf } from './screen/width.ts'

/** Messages on stderr: lines, and at the foot of a terminal, lines that change while work goes on. */
class Terminal {
  #foot: readonly string[] = []
  /** Each line is one JSON object, for programs. */
  json = false
  /** The ids of log lines that have none of their own. */
  ids: LineIds = {}

  /** Whether it can show changing lines. */
  get isLive(): boolean {
    return process.stderr.isTTY === true && !isDumb() && !this.json
  }

  get columns(): number {
    return process.stderr.columns || 80
  }

  get rows(): number {
    return process.stderr.rows || 24
  }

  /** Prints one message, of one line or more. */
  say(line: string): void {
    if (this.json) this.log({ level: 'info', role: 'cli', text: harmless(line), ids: this.ids })
    else this.#write(line)
  }

  /**
   * Says a sentence: a terminal breaks it between words.
   * @param mark what it begins with, in a colour
   */
  tell(sentence: string, mark = '', colour: (text: string) => string = String): void {
    const text = `${mark}${sentence}`
    const isWrapped = process.stderr.isTTY && !this.json && !text.includes('\n')
    const shown = isWrapped ? wrappedUncut(text, this.columns).join('\n') : text
    this.say(shown.startsWith(mark) ? colour(mark) + shown.slice(mark.length) : shown)
  }

  /** Prints a log line. */
  log(line: LogLine): void {
    this.#write(this.json ? asJson(line) : format(line))
  }

  #write(said: string): void {
    const line = !process.stderr.isTTY ? said : this.json ? escapedJson(said) : coloured(said)
    if (this.#foot.length === 0) process.stderr.write(`${line}\n`)
    else process.stderr.write(refoot(this.#foot, this.#rowsTaken(), `${line.replaceAll('\n', '\r\n')}\r\n`, this.#foot))
  }

  /**
   * Replaces the lines at the foot, each narrower than the terminal; none removes them. Does nothing on a log.
   */
  live(lines: readonly string[]): void {
    if (!this.isLive) return
    const text = refoot(this.#foot, this.#rowsTaken(), '', lines)
    this.#foot = lines
    if (text !== '') process.stderr.write(text)
  }

  /** A terminal that became narrower since has wrapped longer lines. */
  #rowsTaken(): number {
    const rows = (line: string) => Math.max(1, Math.ceil(widthOf(harmless(line)) / this.columns))
    return this.#foot.reduce((sum, line) => sum + rows(line), 0)
  }
}

export const terminal = new Terminal()

let isStdoutOver = false

// A reader that has seen enough (`| head`) is no failure of ours, a full disk is; work in progress goes on to its end.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (!isStdoutOver && error.code !== 'EPIPE') {
    const why = error.errno === undefined ? messageOf(error) : getSystemErrorMessage(error.errno)
    sayError(new AppError(`cannot write to stdout: ${why}`))
    process.once('exit', () => {
      process.exitCode ||= EXIT.failed
    })
  }
  isStdoutOver = true
})
// What cannot be said cannot be reported either.
process.stderr.on('error', () => {})

/** Data goes to stdout: one JSON object per line. */
export function printRecord(record: object): void {
  printJson(JSON.stringify(record))
}

/** A line of JSON: on a terminal without control characters, in a pipe unchanged. */
export function printJson(json: string): void {
  process.stdout.write(`${process.stdout.isTTY ? escapedJson(json) : json}\n`)
}

/** Text of data, the same way: pages and their servers wrote parts of it. */
export function printText(text: string): void {
  process.stdout.write(process.stdout.isTTY ? legible(text) : text)
}

/** Whether stdout takes no more: its reader has seen enough, or a failure was said. */
export function stdoutIsOver(): boolean {
  return isStdoutOver
}

/** Whether to write more data. Waits for a slow reader; false: stdout takes no more. */
export function readerWantsMore(): boolean | Promise<boolean> {
  const { stdout } = process
  if (isStdoutOver || !stdout.writableNeedDrain) return !isStdoutOver
  return once(stdout, 'drain').then(
    () => true,
    () => false,
  )
}

/** Whether data should be JSON: when asked for, or when stdout is not a terminal. */
export function wantsJson(options: GlobalOptions): boolean {
  return options.json === true || process.stdout.isTTY !== true
}

/** The level that the options and LOG_LEVEL allow. */
export function logLevel(options: GlobalOptions): Level {
  return options.quiet ? 'warn' : options.settings.config.LOG_LEVEL
}

/** Log lines for a person who watches. */
export function terminalSink(level: Level): Sink {
  return atLeast(level, (line) => terminal.log(line))
}

/** docs/events.md */
function asJson({ level, role, text, ids, happened, page }: LogLine): string {
  const { event, ...fields } = happened ?? (page ? { event: 'page.ended', ...page } : { event: 'note' })
  return JSON.stringify({ time: new Date().toISOString(), level, event, role, message: text, ...ids, ...fields })
}

function format({ level, role, text: said, page }: LogLine): string {
  const text = shown(said)
  // Someone who watches sees at a glance how pages end; a log file is searched.
  if (page && process.stderr.isTTY) return pageEndLine(page, canvasOn(process.stderr, onStderr))
  const time = new Date().toTimeString().slice(0, 8)
  const words =
    level === 'error'
      ? onStderr.red(text)
      : level === 'warn'
        ? onStderr.yellow(text)
        : level === 'debug'
          ? onStderr.dim(text)
          : text
  return `${onStderr.dim(time)} ${onStderr.cyan(role.padEnd(8))} ${words}`
}

/** Parts of it may come from a page or server: cleaned before our colours are added. */
const shown = (text: string) => (process.stderr.isTTY ? legible(text) : text)

/** Prints an expected failure, or several: what is wrong, and what to do. */
export function sayError(error: AppError): void {
  terminal.live([])
  const all = error instanceof UsageErrors ? error.all : [error]
  for (const each of all) terminal.tell(shown(messageOf(each)), 'error: ', onStderr.red)
  for (const hint of new Set(all.flatMap((each) => each.hint ?? [])))
    terminal.say(`${onStderr.dim('hint:')}  ${shown(hint)}`)
}
