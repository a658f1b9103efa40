import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { replaceFile } from './replace-file.ts'

// The hooks of a page that run in the host share one log: a file for each would cost more than most of them do. A row
// of hooks begins with a line that names them. Each appends its part when it has ended, in one go: its output, and a
// line with the number of lines of that. A part that a killed host left incomplete lacks that line, and does not count.
// What a hook says on stderr is there at once, a line each: seldom is there any, and a file for it would be made and
// removed for each hook.

/** What a hook left when it ended. */
export interface LoggedEnd {
  /** Its output. */
  readonly stdout: string
  /** What it said on stderr. */
  readonly said: string
  /** When it ended, in milliseconds of the system's clock. */
  readonly at: number
  /** The boot in which it ended. */
  readonly bootId: string
}

interface RowLine {
  readonly type: 'Row'
  /** Their earlier ends no longer count. */
  readonly hooks: readonly string[]
  readonly begun_at: string
}

interface EndLine {
  readonly type: 'End'
  readonly hook: string
  /** How many lines before this one belong to the hook. */
  readonly lines: number
  readonly ended_at: string
  readonly boot_id: string
}

interface SaidLine {
  readonly type: 'Said'
  readonly by: string
  readonly text: string
}

/** A text that is in the line that ends a hook's part, and in no other line of ours. */
export const endMarkOf = (hook: string): string => `"hook":${JSON.stringify(hook)}`

/** The output of hooks as text: a line per record. */
export const textOf = (printed: readonly object[]): string =>
  printed.map((record) => `${JSON.stringify(record)}\n`).join('')

/** The log of a page; only one process at a time appends to it. */
export class RowLog {
  readonly #fd: number
  readonly #bootId: string
  #isOpen = true
  /** Ends a line that was written in part. */
  #first = ''

  /**
   * Begins a row of hooks.
   * @param hooks the names of their attempts
   */
  constructor(file: string, hooks: readonly string[], bootId: string) {
    this.#bootId = bootId
    const folder = dirname(file)
    if (!existsSync(folder)) mkdirSync(folder, { recursive: true })
    this.#fd = openSync(file, 'a')
    const line: RowLine = { type: 'Row', hooks, begun_at: new Date().toISOString() }
    // The empty line ends what a killed host may have left of another one.
    writeFileSync(this.#fd, `\n${JSON.stringify(line)}\n`)
  }

  /** @returns the output of the hook, as text */
  append(hook: string, printed: readonly object[]): string {
    const about = { type: 'End', hook, lines: printed.length } as const
    const line: EndLine = { ...about, ended_at: new Date().toISOString(), boot_id: this.#bootId }
    const stdout = textOf(printed)
    writeFileSync(this.#fd, `${this.#first}${stdout}${JSON.stringify(line)}\n`)
    return stdout
  }

  /** Adds a line that a hook says on stderr while it runs; what it says later is not heard. */
  say(hook: string, text: string): void {
    if (!this.#isOpen) return
    const line: SaidLine = { type: 'Said', by: hook, text }
    try {
      writeFileSync(this.#fd, `${this.#first}${JSON.stringify(line)}\n`)
    } catch (error) {
      this.#first = '\n'
      throw error
    }
  }

  close(): void {
    this.#isOpen = false
    closeSync(this.#fd)
  }
}

/** The hooks of a log that have ended, by the names of their attempts. The file need not exist. */
export function readRowLog(file: string): ReadonlyMap<string, LoggedEnd> {
  return endsIn(linesOf(file))
}

/** The same, of the text of a log. */
export function endsIn(lines: readonly string[]): ReadonlyMap<string, LoggedEnd> {
  return read(lines).ends
}

/** What a hook has said on stderr since it last began, as the text of a file; '' is nothing. */
export function saidIn(file: string, hook: string): string {
  return read(linesOf(file)).said.get(hook) ?? ''
}

function read(lines: readonly string[]) {
  const ends = new Map<string, LoggedEnd>()
  const said = new Map<string, string>()
  for (const [index, line] of lines.entries()) {
    const mark = markIn(line)
    if (mark?.type === 'Row')
      for (const hook of mark.hooks) {
        ends.delete(hook)
        said.delete(hook)
      }
    else if (mark?.type === 'Said') said.set(mark.by, `${said.get(mark.by) ?? ''}${mark.text}\n`)
    else if (mark)
      ends.set(mark.hook, {
        stdout: lines.slice(index - mark.lines, index).join('\n'),
        said: said.get(mark.hook) ?? '',
        at: Date.parse(mark.ended_at),
        bootId: mark.boot_id,
      })
  }
  return { ends, said }
}

/** Makes the earlier ends of hooks no longer count. */
export function forgetEnds(file: string, hooks: readonly string[]): void {
  if (existsSync(file)) new RowLog(file, hooks, '').close()
}

/** Removes the output of a hook from a log that nobody appends to; the whole log if it has no other hook's. */
export function removeEnds(file: string, hook: string): void {
  const lines = linesOf(file)
  const doomed = new Set<number>()
  const left = new Set<string>()
  for (const [index, line] of lines.entries()) {
    const mark = markIn(line)
    if (mark?.type === 'Said' && mark.by === hook) doomed.add(index)
    if (mark?.type !== 'End') continue
    if (mark.hook !== hook) left.add(mark.hook)
    else for (let at = index - mark.lines; at <= index; at += 1) doomed.add(at)
  }
  if (doomed.size === 0) return
  if (left.size === 0) rmSync(file)
  else replaceFile(file, lines.filter((_line, index) => !doomed.has(index)).join('\n'), { mode: 0o644 })
}

function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
}

/** A line of ours. No output of hooks begins like one, and a part of one parses as nothing. */
function markIn(line: string): RowLine | EndLine | SaidLine | undefined {
  try {
    return /^\{"type":"(Row|End|Said)"/.test(line) ? (JSON.parse(line) as RowLine | EndLine | SaidLine) : undefined
  } catch {
    return undefined
  }
}
