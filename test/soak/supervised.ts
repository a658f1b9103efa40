import { type ChildProcess, spawn } from 'node:child_process'
import type { TestHome } from '../support/homes.ts'
import type { Running } from '../support/program.ts'
import type { Ledger } from './ledger.ts'

/** The runners that somebody starts, as a supervisor would, and how they ended. */
export class Supervised {
  readonly #home: TestHome
  readonly #ledger: Ledger
  readonly #note: (text: string) => void
  readonly runners: Running[] = []

  constructor(home: TestHome, ledger: Ledger, note: (text: string) => void) {
    this.#home = home
    this.#ledger = ledger
    this.#note = note
  }

  start(...options: string[]): number {
    const runner = this.#home.start(['run', ...options], { env: { DATABASE_URL: '' } })
    this.runners.push(runner)
    runner
      .finished(2 ** 31 - 1)
      .then((end) => {
        this.#note(`runner ${runner.pid} left: ${end.signal ?? end.code}\n${end.stderr}`)
        this.#ledger.judge(['run', ...options, `(pid ${runner.pid})`], end)
      })
      .catch(() => {})
    return runner.pid
  }

  get someoneIsThere(): boolean {
    return this.runners.some((runner) => !runner.isOver)
  }
}

/** A process that has nothing to do with anything, whatever somebody writes into a row. */
export function startInnocent(): ChildProcess {
  return spawn('sleep', ['100000'], { stdio: 'ignore', detached: true, env: {}, cwd: '/' })
}
