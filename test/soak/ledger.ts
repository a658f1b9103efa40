import type { Finished } from '../support/program.ts'

/** One `add`, as whoever typed it knows it. */
export interface Added {
  readonly urls: readonly string[]
  readonly plugins: string
  /**
   * The crawl that it printed: from then on none of it may be lost. One that was killed before may have written it or
   * not, but not a part.
   */
  id: string | undefined
}

/** Whoever died of an exception that nobody caught says so in its last lines. */
const STACK = /^\s+at .+:\d+:\d+\)?$/m
/** Fine, failed, no runner, unfinished, interrupted; killed by a signal: none. 70 (a defect) is never right. */
const FAIR = new Set<number | null>([0, 1, 3, 10, 130, null])

/** What somebody outside knows: what was asked for, what was answered, and what may not be expected any more. */
export class Ledger {
  readonly added: Added[] = []
  /** Crawls of which somebody cancelled all or a part: not every hook of theirs is run. */
  readonly cancelled = new Set<string>()
  /** Crawls of which somebody deleted all or a part: they may be gone. */
  readonly deleted = new Set<string>()
  /** Answers that no command may give. */
  readonly complaints: string[] = []

  /** The URLs that may not be lost. A crawl that is cancelled before it begins has no pages. */
  get accepted(): string[] {
    return this.added.flatMap(({ id, urls }) =>
      id === undefined || this.deleted.has(id) || this.cancelled.has(id) ? [] : urls,
    )
  }

  /** Every crawl that is known. */
  get crawls(): string[] {
    return this.added.flatMap(({ id }) => id ?? [])
  }

  /** Was it asked for something that somebody had deleted meanwhile? That is a mistake in its call: exit code 2. */
  #isOfDeleted(stderr: string): boolean {
    const [, kind, id = ''] = /^error: there is no (crawl|snapshot) (\S+)$/m.exec(stderr) ?? []
    return kind === 'snapshot' ? this.deleted.size > 0 : this.deleted.has(id)
  }

  /** Judges how a command ended, whatever was done to it or to others. */
  judge(args: readonly string[], { code, signal, stderr }: Finished): void {
    const what = args.join(' ').slice(0, 100)
    if (!FAIR.has(code) && !this.#isOfDeleted(stderr))
      this.complaints.push(`${what}: exit code ${code}: ${stderr.slice(-500)}`)
    if (STACK.test(stderr)) this.complaints.push(`${what}: a stack trace: ${stderr.slice(-800)}`)
    if (code === 1 && !/^(error: |\d\d:\d\d:\d\d )/m.test(stderr))
      this.complaints.push(`${what}: exit code 1 without a word (${signal})`)
  }
}
