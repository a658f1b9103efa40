import { repaint } from './frame.ts'

/** The alternate screen, no cursor, and lines that never wrap. */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l'
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l'

/** How far a key scrolls, by the lines of a page. Arrows come in two ways, as the terminal was told last. */
const KEYS: ReadonlyMap<string, (page: number) => number> = new Map(
  Object.entries({
    A: () => -1,
    k: () => -1,
    B: () => 1,
    j: () => 1,
    '5~': (page) => -page,
    b: (page) => -page,
    '6~': (page) => page,
    ' ': (page) => page,
    H: () => Number.NEGATIVE_INFINITY,
    '1~': () => Number.NEGATIVE_INFINITY,
    g: () => Number.NEGATIVE_INFINITY,
    F: () => Number.POSITIVE_INFINITY,
    '4~': () => Number.POSITIVE_INFINITY,
    G: () => Number.POSITIVE_INFINITY,
  }),
)
/** One key: a letter, or an escape sequence. Several may arrive at once. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is how keys come
const KEY = /\u001b[[O]([0-9;]*[A-Za-z~])|[\s\S]/g
/** q, Q, Ctrl-C, Ctrl-D. */
const QUIT = new Set(['q', 'Q', '\u0003', '\u0004'])
/** Ctrl-Z. */
const SUSPEND = '\u001a'

/**
 * The whole terminal, for changing lines: writes only those that changed, in one go. Scrolls when there are more lines
 * than rows, follows the terminal's size, and ends at `q`.
 */
export class FullScreen {
  readonly #draw: (columns: number) => readonly string[]
  readonly #over = new AbortController()
  #shown: readonly string[] | undefined
  #top = 0

  /** @param draw returns the current lines for a width; called again when that changes */
  constructor(draw: (columns: number) => readonly string[]) {
    this.#draw = draw
    process.stdout.on('resize', this.#onResize).once('error', this.#onEnd)
    for (const signal of SIGNALS) process.on(signal, this.#onEnd)
    process.on('SIGCONT', this.#onContinued)
    if (process.stdin.isTTY) process.stdin.setRawMode(true).resume().on('data', this.#onKeys)
    process.stdout.write(ENTER)
  }

  /** Aborts when the user quits. */
  get over(): AbortSignal {
    return this.#over.signal
  }

  /** Shows the current lines. */
  show(): void {
    if (this.over.aborted) return
    const { columns = 80, rows = 24 } = process.stdout
    const lines = this.#draw(Math.max(1, columns - 1))
    const most = lines.length > rows ? Math.max(1, rows - 1) : rows
    this.#top = Math.max(0, Math.min(this.#top, lines.length - most))
    const seen = lines.slice(this.#top, this.#top + most)
    const foot = `${this.#top + 1}-${this.#top + seen.length} of ${lines.length}  arrows scroll  q quits`
    const after = lines.length > rows && rows > 1 ? [...seen, foot.slice(0, columns - 1)] : seen
    const text = repaint(this.#shown, after)
    this.#shown = after
    if (text !== '') process.stdout.write(text)
  }

  /** Restores the terminal. */
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
    this.#shown = undefined // The terminal has moved its content.
    this.show()
  }

  readonly #onContinued = (): void => {
    if (process.stdin.isTTY) process.stdin.setRawMode(true)
    process.stdout.write(ENTER)
    this.#onResize()
  }

  readonly #onKeys = (data: Buffer): void => {
    for (const [key, sequence] of data.toString().matchAll(KEY)) this.#onKey(key, sequence)
    this.show()
  }

  #onKey(key: string, sequence: string | undefined): void {
    if (QUIT.has(key)) this.#onEnd()
    if (key === SUSPEND) {
      process.stdin.setRawMode(false)
      process.stdout.write(LEAVE, () => process.kill(process.pid, 'SIGSTOP'))
    }
    const isCapital = sequence === undefined && /[ABFH]/.test(key)
    const step = isCapital ? undefined : KEYS.get(sequence ?? key)
    if (step) this.#top = Math.max(0, Math.min(this.#top + step(Math.max(1, (process.stdout.rows ?? 24) - 2)), MOST))
  }
}

/** More lines than any screen has: `show` knows the real number. */
const MOST = 1_000_000
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
