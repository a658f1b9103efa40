import { stripVTControlCharacters } from 'node:util'
import pc from 'picocolors'
import { type AppError, messageOf, UsageErrors } from '../base/errors.ts'
import { atLeast, type Level, type LogLine, type Sink } from '../base/log.ts'
import type { GlobalOptions } from './options.ts'

/** Talk goes to stderr: lines, and at its foot one line that changes while work goes on (on a terminal only). */
class Terminal {
  #live = ''

  get isTTY(): boolean {
    return process.stderr.isTTY === true
  }

  /** One line for people. */
  say(line: string): void {
    this.#erase()
    process.stderr.write(`${line}\n`)
    this.#draw()
  }

  /** Replaces the line at the foot; '' removes it. Nothing where stderr is not a terminal. */
  live(text: string): void {
    if (!this.isTTY) return
    this.#erase()
    this.#live = text
    this.#draw()
  }

  #erase(): void {
    if (this.#live) process.stderr.write('\r\u001b[2K')
  }

  #draw(): void {
    if (!this.#live) return
    // A line that wraps cannot be erased: too long for the terminal, it goes without its colours and its end.
    const room = (process.stderr.columns || 80) - 1
    const plain = stripVTControlCharacters(this.#live)
    process.stderr.write(plain.length <= room ? this.#live : plain.slice(0, room))
  }
}

export const terminal = new Terminal()

// A reader that has seen enough (`| head`) is no failure of ours; what is under way goes on to its end.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

/** Data goes to stdout: one JSON object a line. */
export function printRecord(record: object): void {
  process.stdout.write(`${JSON.stringify(record)}\n`)
}

/** Should data be JSON? Asked for, or nobody looks at stdout. */
export function wantsJson(options: GlobalOptions): boolean {
  return options.json === true || process.stdout.isTTY !== true
}

/** What the options and LOG_LEVEL let through. */
export function logLevel(options: GlobalOptions): Level {
  return options.quiet ? 'warn' : options.settings.config.LOG_LEVEL
}

/** Log lines for a person who watches. */
export function terminalSink(level: Level): Sink {
  return atLeast(level, (line) => terminal.say(format(line)))
}

function format({ level, role, text }: LogLine): string {
  const time = new Date().toTimeString().slice(0, 8)
  const words =
    level === 'error' ? pc.red(text) : level === 'warn' ? pc.yellow(text) : level === 'debug' ? pc.dim(text) : text
  return `${pc.dim(time)} ${pc.cyan(role.padEnd(8))} ${words}`
}

/** An expected failure, or several: what was wrong, and what to do. */
export function sayError(error: AppError): void {
  terminal.live('')
  const all = error instanceof UsageErrors ? error.all : [error]
  for (const each of all) terminal.say(`${pc.red('error:')} ${messageOf(each)}`)
  for (const hint of new Set(all.flatMap((each) => each.hint ?? []))) terminal.say(`${pc.dim('hint:')}  ${hint}`)
}
