import { type Work, workOf } from '../app/status/work.ts'
import { Bell } from '../base/abort.ts'
import type { Settings } from '../base/config.ts'
import type { Home } from '../db/home.ts'
import { canvasOn } from './screen/canvas.ts'
import { cutEnd } from './screen/fit.ts'
import { wrapped } from './screen/flow.ts'
import { onStderr } from './screen/palette.ts'
import { loadWidths, WIDE } from './screen/width.ts'
import { workLines } from './screen/work.ts'
import { terminal } from './terminal.ts'
import { Waits } from './waits.ts'

/** How often it looks, and counts seconds up. */
const LOOK_MS = 1_000
/** How often, with nothing in work. */
const IDLE_MS = 2_000
/** News comes in bursts: one look is enough for what comes within this time. */
const BURST_MS = 150
/** Room after the last line for the ^C that a terminal echoes. */
const ECHO = 2
/** The last line, unless a stop is under way. */
const RUNS = 'Ctrl-C stops'
/** The most crawls that are shown at once. */
const CRAWLS = 3

/** What is being worked on, at the foot of the terminal, while a runner works or a crawl is followed. */
export class LiveView {
  readonly #home: Home
  readonly #crawlId: string | undefined
  readonly #waits: Waits
  readonly #bell = new Bell()
  readonly #over = new AbortController()
  readonly #draw = () => this.#show()
  #work: Work = { crawls: [], otherCrawls: 0, pages: [] }
  #foot = RUNS
  #owesAnswer = false

  /** @param crawlId shows only this crawl */
  constructor(home: Home, settings: Settings, crawlId: string | undefined) {
    this.#home = home
    this.#crawlId = crawlId
    this.#waits = new Waits(home, settings)
    process.stderr.on('resize', this.#draw)
    void this.#keepLooking()
  }

  /** Something has happened: look at once. */
  news(): void {
    this.#bell.wake()
  }

  /** A signal stops it: at once shows what the stop waits for, and how long at most. */
  stops(signal: NodeJS.Signals): void {
    if (this.#foot !== RUNS) return
    // Only people press keys: whoever sends another signal knows what it means.
    this.#foot = signal === 'SIGINT' ? 'stopping (Ctrl-C again: now)' : 'stopping'
    this.#owesAnswer = signal === 'SIGINT'
    this.#answer()
    this.#bell.wake()
    this.#show()
  }

  /** Shows what a stop waits for; what has only just begun is seen at the next look. */
  #answer(): void {
    const waits = this.#owesAnswer ? this.#waits.line(this.#work.pages) : undefined
    if (waits === undefined) return
    this.#owesAnswer = false
    terminal.say(wrapped(waits, terminal.columns - 1).join('\n'))
  }

  end(): void {
    this.#over.abort()
    process.stderr.off('resize', this.#draw)
    terminal.live([])
  }

  async #keepLooking(): Promise<void> {
    const { signal } = this.#over
    // Titles of finished pages may come at any time, in any script.
    await loadWidths([WIDE])
    while (!signal.aborted) {
      // When the database is away, for example: what was seen last stays.
      const work = await workOf(this.#home, this.#crawlId, CRAWLS).catch(() => undefined)
      if (work && !signal.aborted) {
        await this.#waits.learn(work.pages).catch(() => {})
        this.#work = work
        this.#answer()
        this.#show()
      }
      await this.#bell.wait(work?.pages.length === 0 ? IDLE_MS : LOOK_MS, signal)
      await new Bell().wait(BURST_MS, signal)
    }
  }

  #show(): void {
    if (this.#over.signal.aborted) return
    const canvas = canvasOn(process.stderr, onStderr)
    const lines = workLines(this.#work, canvas)
    const foot = this.#foot
    if (lines.length === 0 && foot === RUNS) lines.push('waiting for work')
    const most = Math.max(1, terminal.rows - 2)
    const shown = lines.length > most - 1 ? lines.slice(0, Math.max(0, most - 2)) : lines
    const more = lines.length - shown.length
    const last = more > 0 ? `${more} more lines; ${foot}` : foot
    terminal.live([...shown, onStderr.dim(cutEnd(last, canvas.columns - ECHO))])
  }
}
