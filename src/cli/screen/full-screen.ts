import { repaint } from './frame.ts'

/** Another screen than the one with what was said before, no cursor, and lines that never wrap. */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l'
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l'

const KEYS: Readonly<Record<string, (page: number) => number>> = {
  '\u001b[A': () => -1,
  k: () => -1,
  '\u001b[B': () => 1,
  j: () => 1,
  '\u001b[5~': (page) => -page,
  b: (page) => -page,
  '\u001b[6~': (page) => page,
  ' ': (page) => page,
  '\u001b[H': () => Number.NEGATIVE_INFINITY,
  '\u001b[1~': () => Number.NEGATIVE_INFINITY,
  g: () => Number.NEGATIVE_INFINITY,
  '\u001b[F': () => Number.POSITIVE_INFINITY,
  '\u001b[4~': () => Number.POSITIVE_INFINITY,
  G: () => Number.POSITIVE_INFINITY,
}
/** q, Q, Ctrl-C, Ctrl-D, and the escape key alone. */
const QUIT = new Set(['q', 'Q', '\u0003', '\u0004', '\u001b'])
const SUSPEND = '\u001a'

/**
 * The whole terminal, for lines that change: only those are written that did, at once. Scrolls when there are more lines
 * than rows, follows the terminal's size, and stops at `q`.
 */
export class FullScreen {
  readonly #draw: (columns: number) => readonly string[]
  readonly #over = new AbortController()
  #shown: readonly string[] | undefined
  #top = 0

  /** @param draw the lines, as they are now, for a width; asked again when that changes */
  constructor(draw: (columns: number) => readonly string[]) {
    this.#draw = draw
    process.stdout.on('resize', this.#onResize).once('error', this.#onEnd)
    for (const signal of SIGNALS) process.on(signal, this.#onEnd)
    process.on('SIGCONT', this.#onContinued)
    if (process.stdin.isTTY) process.stdin.setRawMode(true).resume().on('data', this.#onKeys)
    process.stdout.write(ENTER)
  }

  /** Aborts when the person wants to leave. */
  get over(): AbortSignal {
    return this.#over.signal
  }

  /** Shows the lines as they are now. */
  show(): void {
    if (this.over.aborted) return
    const { columns = 80, rows = 24 } = process.stdout
    const lines = this.#draw(Math.max(1, columns - 1))
    const most = lines.length > rows ? Math.max(1, rows - 1) : rows
    this.#top = Math.max(0, Math.min(this.#top, lines.length - most))
    const seen = lines.slice(this.#top, this.#top + most)
    const foot = `${this.#top + 1}-${this.#top + seen.length} of ${lines.length}  arrows scroll  q leaves`
    const after = lines.length > rows && rows > 1 ? [...seen, foot.slice(0, columns - 1)] : seen
    const text = repaint(this.#shown, after)
    this.#shown = after
    if (text !== '') process.stdout.write(text)
  }

  /** Gives the terminal back as it was. */
  leave(): void {
    this.#over.abort()
    process.stdout.off('resize', this.#onResize).off('error', this.#onEnd)
    for (const signal of SIGNALS) process.off(signal, this.#onEnd)
    process.off('SIGCONT', this.#onContinued)
    if (process.stdin.isTTY) process.stdin.off('data', this.#onKeys).setRawMode(false).pause()
    process.stdout.write(LEAVE)
  }

  readonly #onEnd = (): void => this.#over.abort()

  readonly #onResize = (): void => {
    this.#shown = undefined // The terminal has moved what it showed.
    this.show()
  }

  readonly #onContinued = (): void => {
    if (process.stdin.isTTY) process.stdin.setRawMode(true)
    process.stdout.write(ENTER)
    this.#onResize()
  }

  readonly #onKeys = (data: Buffer): void => {
    const keys = data.toString()
    const step = KEYS[keys]
    if (QUIT.has(keys)) this.#onEnd()
    if (keys === SUSPEND) {
      process.stdin.setRawMode(false)
      process.stdout.write(LEAVE, () => process.kill(process.pid, 'SIGSTOP'))
    }
    if (!step) return
    this.#top = Math.max(0, Math.min(this.#top + step(Math.max(1, (process.stdout.rows ?? 24) - 2)), 1_000_000))
    this.show()
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
