import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { sleep } from '../base/abort.ts'
import { backoff } from '../base/backoff.ts'
import { messageOf } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { asset } from '../base/package-root.ts'
import { withoutSecrets } from '../base/secrets.ts'
import { ownIdentity } from '../processes/identity.ts'
import { MARKER } from '../processes/marks.ts'
import { homeEnvironment } from '../workers/supervise/home-environment.ts'
import type { WorkerContext } from '../workers/supervise/worker-context.ts'
import { guardianLog } from './guardian-log.ts'

/**
 * A shell that waits for the end of a pipe: a megabyte, up in 2 ms. The first line is the database's URL, which its
 * environment would reveal. A second line dismisses it; the end of the pipe without one means that its runner is dead,
 * and then it becomes the program that reaps (guardian-process.ts), with the URL as its input.
 */
const WAIT = `trap "" TERM INT HUP; IFS= read -r url; echo up; read -r line || exec "$@" <<END
$url
END
`

/** How long it may take to exit when it is dismissed; a stopped one never does. */
const LEAVE_MS = 2_000
const LONGEST_PAUSE_MS = 5_000

/**
 * The leader's end of its guardian: a process in its own session that outlives a kill -9 of the runner, and then ends
 * whatever the runner left behind. If it dies, it is replaced; while there is none, the leader starts nothing.
 */
export class Guardian {
  readonly #context: WorkerContext
  readonly #leaving = new AbortController()
  readonly #kept: Promise<void>
  #child: ChildProcess | undefined
  #isUp = false

  /** Starts it without waiting for it: the context's bell rings when it is up. */
  constructor(context: WorkerContext) {
    this.#context = context
    this.#kept = this.#keep()
  }

  /** Whether there is one that watches us. */
  get isUp(): boolean {
    return this.#isUp
  }

  /** Dismisses it: nothing is left that it would have to end. */
  async leave(): Promise<void> {
    this.#leaving.abort()
    this.#child?.stdin?.end('\n')
    const killTimer = setTimeout(() => this.#child?.kill('SIGKILL'), LEAVE_MS)
    await this.#kept
    clearTimeout(killTimer)
  }

  async #keep(): Promise<void> {
    const { startTicks } = await ownIdentity()
    for (let deaths = 0; !this.#leaving.signal.aborted; deaths += 1) {
      if (deaths > 0) await sleep(backoff(deaths, { baseMs: 10, maxMs: LONGEST_PAUSE_MS }), this.#leaving.signal)
      if (this.#leaving.signal.aborted) return
      const end = await this.#oneLife(startTicks)
      this.#isUp = false
      if (!this.#leaving.signal.aborted)
        this.#context.log.warn(`the guardian ended (${end}): starting another`, { event: 'guardian.replaced' })
    }
  }

  /** One process, from its start to its end. @returns how it ended, in words */
  async #oneLife(startTicks: number): Promise<string> {
    const ended = Promise.withResolvers<string>()
    try {
      const child = this.#spawn(startTicks)
      this.#child = child
      child.once('exit', (code, signal) => ended.resolve(signal ?? `exit code ${code}`))
      child.once('error', (error) => ended.resolve(messageOf(error)))
      child.stdin?.on('error', () => {}) // A broken pipe: its exit tells so, too.
      child.stdin?.write(`${this.#context.owner.home.databaseUrl}\n`)
      const up = new Promise((resolve) => child.stdout?.once('data', resolve))
      await failpoint('guardian.spawned')
      await Promise.race([up, ended.promise])
      await failpoint('guardian.up')
      this.#isUp = true
      this.#context.bell.wake()
    } catch (error) {
      this.#child?.kill('SIGKILL')
      ended.resolve(messageOf(error))
    }
    return await ended.promise
  }

  #spawn(startTicks: number): ChildProcess {
    const { owner, runnerId, containment } = this.#context
    const program = [
      process.execPath,
      asset('guardian.js', 'runner/guardian-process.ts'),
      String(process.pid),
      String(startTicks),
    ]
    if (containment.tier === 'cgroup') program.push(containment.path)
    // Without the marks of the runner's workers and hooks: when the runner reaps those, it must spare the guardian.
    const marks = { [MARKER.runner]: undefined, [MARKER.process]: undefined, [MARKER.guardian]: runnerId }
    const env = { ...withoutSecrets(process.env), ...homeEnvironment(owner.home), ...marks }
    const log = guardianLog(owner.home.dataDir)
    mkdirSync(dirname(log), { recursive: true })
    const complaints = openSync(log, 'a', 0o600)
    try {
      return spawn('/bin/sh', ['-c', WAIT, 'archivebox-ts-guardian', ...program], {
        cwd: '/',
        env,
        detached: true,
        stdio: ['pipe', 'pipe', complaints],
      })
    } finally {
      closeSync(complaints)
    }
  }
}
