import type { ChildProcess } from 'node:child_process'
import { on } from 'node:events'

/** The parent's row, when a command of ours started this runner. No setting: nobody else may give it. */
export const PARENT_ENV = 'ARCHIVEBOX_STARTED_BY'

/** The row of the command that started this runner; null: nobody of ours did. */
export const startedByCommand = (): string | null => process.env[PARENT_ENV] ?? null

/** What a command tells the runner that it has started ahead of time: its database is there, and then its crawl. */
export type Cue = 'open' | 'work'

/** Tells it. A channel that has just closed means that it is gone. */
export function tellRun(child: ChildProcess, cue: Cue): void {
  if (child.connected) child.send(cue, () => {})
}

/** The runner's side: a runner that nobody of ours has started waits for nothing. */
export class Cues {
  // Without a channel we were started by somebody else, who inherited that command's environment.
  readonly #cues =
    startedByCommand() === null || process.send === undefined
      ? undefined
      : on(process, 'message', { close: ['disconnect'] })

  /** Waits for the next one. False: the command is gone, or does not need us. */
  async next(): Promise<boolean> {
    if (this.#cues === undefined) return true
    return process.connected && !(await this.#cues.next()).done
  }

  /** No more are heeded. */
  async end(): Promise<void> {
    await this.#cues?.return?.()
  }
}
