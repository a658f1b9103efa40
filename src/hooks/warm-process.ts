import type { ChildProcess } from 'node:child_process'
import { failpoint } from '../base/failpoint.ts'
import { FLUSH_ENV } from '../base/flush.ts'
import { asset } from '../base/package-root.ts'
import { readRowLog, saidIn } from '../base/row-log.ts'
import { FRUGAL_ENV, FRUGAL_FLAGS } from '../base/start/frugal.ts'
import { markEnded, markRunning } from '../db/processes.ts'
import { CannotEnd } from '../processes/cannot-end.ts'
import { closeContainer } from '../processes/containment/containment.ts'
import { type Family, killFamily } from '../processes/family.ts'
import { MARKER } from '../processes/marks.ts'
import { spawned } from '../processes/spawned.ts'
import { ownPlaces } from './account-environment.ts'
import { type Announced, announce, identified, type ProcessScope, spawnToFiles, startAnnounced } from './announced.ts'
import { type HookJob, sentAs } from './hook-job.ts'
import { type HostReply, STOP } from './host-protocol.ts'
import { endedBy, endOf, type HostedEnd, nameOf } from './hosted-ends.ts'
import type { Exit } from './launch.ts'

/**
 * A bounded heap: a hook that needs more dies of it and runs again alone. And a young generation of half the size,
 * since there are more hosts than cores: 20 MB less in all.
 */
const HOST_FLAGS = [...FRUGAL_FLAGS, '--max-semi-space-size=4', '--max-old-space-size=80']
/** A host that grows beyond this is replaced after its current hook. */
const MAX_RSS_BYTES = 400 * 1024 * 1024
/**
 * After this many jobs, mostly one per page, it is replaced as well: with time its allocator keeps more memory that it
 * cannot give back, a third more after 1,000 pages. A new one costs 0.2 s of CPU until it is warm.
 */
const MAX_JOBS = 1_000
/** At its deadline a hook gets an abort signal; if it ignores that, the host is killed this much later. */
const ABORT_GRACE_MS = 1_000
/** How long an idle host may take to exit. */
const LEAVE_MS = 2_000

/**
 * How often a long job is checked. Each check publishes the results of ended hooks, as copies, because later hooks may
 * read the originals: fewer checks are cheaper on a busy machine.
 */
const LOOK_MS = 1_000

/** A process of the host, in its container. */
interface Started extends Announced {
  readonly child: ChildProcess
  readonly family: Family
  readonly exited: Promise<Exit>
  readonly recorded: Promise<void>
}

/** One warm process (host.ts), seen from the worker that started it. */
export class WarmProcess {
  readonly id: string
  readonly #child: ChildProcess
  readonly #started: Started
  #isEnding = false
  #rssBytes = 0
  #jobs = 0

  private constructor(started: Started) {
    this.id = started.id
    this.#child = started.child
    this.#started = started
  }

  /** Starts one. Its own output goes to `log`, each hook's output to the files of its job. */
  static async start(scope: ProcessScope, cwd: string, log: string): Promise<WarmProcess> {
    const { home, parentId, runnerId, containment } = scope
    const argv = [process.execPath, ...HOST_FLAGS, asset('hook-host.js', 'hooks/host-process.ts')]
    const logs = { stdout: log, stderr: log }
    const announced = await announce(scope, { pwd: cwd, cmd: argv, logs })
    await failpoint('spawn.host_row')
    const { id, container } = announced
    const marks = { [MARKER.process]: id, [MARKER.worker]: parentId, [MARKER.runner]: runnerId }
    // No settings: each hook in it brings its own.
    const own = containment.account ? ownPlaces(containment.account) : { HOME: process.env['HOME'] }
    const env = { PATH: process.env['PATH'], ...own, ...FRUGAL_ENV, ...FLUSH_ENV, ...marks }
    const start = () => spawned(() => spawnToFiles(container, cwd, env, logs, true))
    const child = await startAnnounced(home, announced, start)
    const exited = new Promise<Exit>((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })))
    await failpoint('spawn.host_spawned')
    const { identity, family } = await identified(announced, child.pid)
    const record = async () => {
      if (identity) await markRunning(home.db, id, identity)
      await failpoint('spawn.host_running')
      await markEnded(home.db, id, await exited)
      await failpoint('shutdown.host_row_closed')
    }
    const recorded = record()
    recorded.catch(() => {})
    return new WarmProcess({ id, container, child, family, exited, recorded })
  }

  get #hasExited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** Whether it lives although it had to be killed. */
  get isLeft(): boolean {
    return this.#isEnding && !this.#hasExited
  }

  /** Whether it can take another job. */
  get usable(): boolean {
    const isThere = !this.#isEnding && !this.#hasExited && this.#child.connected
    return isThere && this.#rssBytes < MAX_RSS_BYTES && this.#jobs < MAX_JOBS
  }

  /**
   * Runs hooks as one job and yields their ends in order: in portions while a job takes long, else all at once. A hook
   * that outlives its deadline, or `signal`, costs the process its life, and is the last one with an end. The same goes
   * for the running hook when `enough` aborts.
   */
  async *run(job: HookJob, signal: AbortSignal, enough: AbortSignal): AsyncGenerator<HostedEnd[], void> {
    const { log, runs } = job
    const { outcome, forget } = this.#begin(job, signal, enough)
    let done = 0
    let since = performance.now()
    let isOver = false
    try {
      while (done < runs.length) {
        const { timeoutMs } = runs[done]!.hook
        const left = since + timeoutMs + ABORT_GRACE_MS - performance.now()
        const isLate = left <= LOOK_MS
        const answer = await within(Math.min(left, LOOK_MS), outcome)
        if (typeof answer === 'object') {
          isOver = true
          this.#rssBytes = answer.rssBytes
          const rest = answer.outcomes.slice(done).map((one, index) => endOf(runs[done + index]!, one, log))
          if (rest.length > 0) yield rest
          return
        }
        // After a suspension the check comes late: the current hook is not to blame for the time of the one before.
        const end = answer ?? (isLate && !readRowLog(log).has(nameOf(runs[done]!)) ? 'timeout' : undefined)
        isOver = end !== undefined
        // A host that exited by itself may have left children of a hook.
        if (end !== undefined) await this.kill()
        const ends = endedBy(readRowLog(log), runs.slice(done), since)
        done += ends.length
        since = ends.at(-1)?.ended ?? since
        const endedAfterAll = end === 'timeout' && ends.length > 0
        if (end !== undefined && !endedAfterAll && done < runs.length) {
          const exit = end === 'gone' ? await this.#started.exited : KILLED
          const cause = end === 'gone' ? 'exit' : end
          const { hook, logs } = runs[done]!
          const said = saidIn(log, nameOf(runs[done]!))
          ends.push({ hook, logs, exit, cause, began: since, ended: performance.now(), stdout: '', said })
        }
        if (ends.length > 0) yield ends
        if (end !== undefined) return
      }
      isOver = typeof (await outcome) === 'object' // The answer is on its way.
    } finally {
      if (!isOver) await this.kill() // Its answer would be mistaken for the next job's.
      forget()
    }
  }

  /** Sends a job. @returns its first outcome, and a function that stops listening for it */
  #begin(
    job: HookJob,
    signal: AbortSignal,
    enough: AbortSignal,
  ): { outcome: Promise<HostReply | 'force' | 'gone'>; forget: () => void } {
    this.#jobs += 1
    const outcome = Promise.withResolvers<HostReply | 'force' | 'gone'>()
    const onReply = (reply: HostReply) => outcome.resolve(reply)
    const onForce = () => outcome.resolve('force')
    const onGone = () => outcome.resolve('gone')
    const onEnough = () => this.#child.connected && this.#child.send(STOP, () => {})
    this.#child.once('message', onReply)
    // Not by `exited`, which would keep the answer to each job for as long as the host lives.
    this.#child.once('exit', onGone)
    signal.addEventListener('abort', onForce)
    enough.addEventListener('abort', onEnough)
    this.#child.send(sentAs(job, this.id), (error) => {
      if (error) this.kill().catch(outcome.reject) // It died before it took the job; its exit tells how.
    })
    if (this.#hasExited) onGone()
    if (signal.aborted) onForce()
    if (enough.aborted) onEnough()
    const forget = () => {
      signal.removeEventListener('abort', onForce)
      enough.removeEventListener('abort', onEnough)
      this.#child.off('message', onReply)
      this.#child.off('exit', onGone)
    }
    return { outcome: outcome.promise, forget }
  }

  /** Ends it while it is idle: it exits when its channel closes, and is killed if it does not. */
  async stop(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect()
    const late = setTimeout(() => this.#child.kill('SIGKILL'), LEAVE_MS)
    await this.#started.recorded.finally(() => clearTimeout(late))
    closeContainer(this.#started.container)
  }

  async kill(): Promise<void> {
    this.#isEnding = true // If it cannot be killed, its answer would be mistaken for the next job's.
    const survivors = await killFamily(this.#started.family)
    await failpoint('shutdown.host_killed')
    if (survivors.some(({ pid }) => pid === this.#child.pid)) throw new CannotEnd(survivors)
    await this.#started.recorded
  }
}

const KILLED: Exit = { code: null, signal: 'SIGKILL' }

/** The value of a promise, or undefined after `ms` milliseconds. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), Math.max(0, ms))
  })
  return await Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
