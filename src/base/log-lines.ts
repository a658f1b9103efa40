/** What tells the lines of one process from those of others in a log that many write to. */
export const shortProcess = (processId: string): string => processId.slice(-8)

/** The beginning of a line that `toFile` has written. */
const LINE = /^\d{4}-\d\d-\d\dT[\d:.]+Z \w+ \w+(?: ([0-9a-f]{8}))?: /

/** Takes a log apart as it comes, and keeps what one process said, all lines of it. */
export class LinesOf {
  readonly #process: string
  #rest = ''
  #isTheirs = false

  constructor(processId: string) {
    this.#process = shortProcess(processId)
  }

  /** The lines of this process in what comes next; of the last one all that is there when it is complete. */
  take(text: string): string {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop()!
    return lines.flatMap((line) => (this.#keeps(line) ? `${line}\n` : [])).join('')
  }

  /** A line without a beginning goes on with what was said before. */
  #keeps(line: string): boolean {
    const begin = LINE.exec(line)
    if (begin) this.#isTheirs = begin[1] === this.#process
    return this.#isTheirs
  }
}
