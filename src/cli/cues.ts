import type { ChildProcess } from 'node:child_process'
import { on } from 'node:events'

/** The row of the parent, when a command of ours started this runner. Not a setting: nobody else may set it. */
export const PARENT_ENV = 'ARCHIVEBOX_STARTED_BY'

/** The row of the command that started this runner; null: none did. */
export const startedByCommand = (): string | null => process.env[PARENT_ENV] ?? null

/** What a command tells a runner that it started ahead of time: the database is ready, then the crawl is written. */
export type Cue = 'open' | 'work'

/** Sends a cue. A channel that has just closed means that the runner is gone. */
export function tellRun(child: ChildProcess, cue: Cue): void {
  if (child.connected) child.send(cue, () => {})
}

/** The runner's side. A runner that no command of ours started waits for nothing. */
export class Cues {
  // Without a channel somebody else started us, who inherited that command's environment.
  readonly #cues =
    startedByCommand() === null || process.send === undefined
      ? undefined
      : on(process, 'message', { close: ['disconnect'] })

  /** Waits for the next one. False: the command is gone, or does not need us. */
  async next(): Promise<boolean> {
    if (this.#cues === undefined) return true
    return process.connected && !(await this.#cues.next()).done
  }

  /** Ignores all further cues. */
  async end(): Promise<void> {
    await this.#cues?.return?.()
  }
}
