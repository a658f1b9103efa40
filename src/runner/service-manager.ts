import { type ChildProcess, spawn } from 'node:child_process'
import { sleep } from '../base/abort.ts'
import type { Texts } from '../base/config.ts'
import { findProgram } from '../base/find-program.ts'
import type { Log } from '../base/log.ts'
import type { ProcessIdentity } from '../db/process-identity.ts'
import { identityOf, signalIdentity } from '../processes/identity.ts'

/**
 * Node has no datagram sockets: a shell passes each line on, and answers it. It ends with the pipe, that is with us,
 * and not before: the last line may be on its way.
 */
const PASS_ON = 'trap "" TERM INT HUP; while IFS= read -r line; do "$0" "$line"; echo; done'

/** What a service manager puts into the environment of its service. What we start must not speak for us. */
const GIVEN = ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID', 'MAINPID'] as const

/** How long the old runner may take to exit, before it is told again. */
const AGAIN_MS = 6_000

/** How many times within its limit the watchdog is fed. */
const FEEDS = 3

/**
 * Tells the service manager that started us, such as systemd, how we are: ready, what we do, alive, about to end.
 * Without one, or without `systemd-notify`, nobody is told.
 */
export class ServiceManager {
  readonly #log: Log
  readonly #helper: ChildProcess | undefined
  readonly #timer: NodeJS.Timeout | undefined
  readonly #over = new AbortController()
  /** The process that we replace: a reload of the service has started us beside it. */
  #replaced: Promise<ProcessIdentity | null> | undefined
  /** Those who wait for an answer, the oldest first. */
  readonly #waiting: (() => void)[] = []
  #status = ''
  #isReady = false
  #isLeading = false
  /** The leader's loop has come round since the watchdog was last fed. */
  #hasTurned = false

  constructor(environment: Texts, log: Log) {
    this.#log = log
    for (const name of GIVEN) Reflect.deleteProperty(process.env, name)
    const { NOTIFY_SOCKET, WATCHDOG_USEC, MAINPID } = environment
    if (NOTIFY_SOCKET === undefined) return
    const program = findProgram('systemd-notify', environment['PATH'])
    if (program === undefined) {
      log.warn('systemd-notify is not here: the service manager learns nothing')
      return
    }
    const helper = spawn('/bin/sh', ['-c', PASS_ON, program], {
      cwd: '/',
      env: { NOTIFY_SOCKET },
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    helper.on('error', (error) => log.warn(`cannot speak to the service manager: ${error.message}`))
    helper.stdin.on('error', () => {}) // It is gone: nobody is told any more.
    helper.stdout.on('data', (answers: Buffer) => {
      for (let count = answers.length; count > 0; count -= 1) this.#waiting.shift()?.()
    })
    helper.unref()
    this.#helper = helper
    this.#replaced = MAINPID === undefined ? undefined : identityOf(Number(MAINPID))
    const limitMs = Number(WATCHDOG_USEC) / 1_000
    if (limitMs > 0) this.#timer = setInterval(() => this.#feed(), limitMs / FEEDS).unref()
  }

  /** Whether somebody is told. */
  get isThere(): boolean {
    return this.#helper?.stdin?.writable === true
  }

  /** We lead. After a reload, the process that led before is no longer the main one, and is told to exit. */
  leads(): void {
    this.#isLeading = true
    this.#hasTurned = true
    this.says('leading')
    const before = this.#replaced
    this.#replaced = undefined
    this.#ready()
    if (before !== undefined) void this.#replace(before)
  }

  /** Our lead is over; we may lead again. */
  leadsNoMore(): void {
    this.#isLeading = false
  }

  /** We stand by, as we are meant to. */
  standsBy(): void {
    if (this.#replaced === undefined) this.#ready()
  }

  /** The leader's loop has come round, with or without an answer of the database. */
  turns(): void {
    this.#hasTurned = true
  }

  /** What we do, or what we wait for, in a line. */
  says(status: string): void {
    if (status === this.#status) return
    this.#status = status
    void this.#tell(`STATUS=${status.replaceAll(/\s+/g, ' ')}`)
  }

  /** We lead, and end. Nobody else says so: whoever stands by may have been replaced, and the service goes on. */
  stops(): void {
    void this.#tell('STOPPING=1')
    this.says('stopping: running hooks may finish')
  }

  /** The last thing: what was told is passed on after our end, too. */
  end(): void {
    this.#over.abort()
    clearInterval(this.#timer)
    this.#helper?.stdin?.end()
  }

  async #replace(before: Promise<ProcessIdentity | null>): Promise<void> {
    await this.#tell(`MAINPID=${process.pid}`)
    const old = await before
    if (!old) return
    this.#log.info(`the service’s main process is this one now: pid ${old.pid} exits`)
    // Right after the takeover it may take a SIGTERM for a part of that.
    const over = this.#over.signal
    while (!over.aborted && (await signalIdentity(old, 'SIGTERM'))) await sleep(AGAIN_MS, over)
  }

  #ready(): void {
    if (!this.#isReady) void this.#tell('READY=1')
    this.#isReady = true
  }

  /** A loop that stands still feeds nobody; before and after its lead, a runner is well while it does anything. */
  #feed(): void {
    if (this.#isLeading && !this.#hasTurned) return
    this.#hasTurned = false
    void this.#tell('WATCHDOG=1')
  }

  /** Resolves when the service manager has taken it. */
  async #tell(line: string): Promise<void> {
    if (!this.isThere) return
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve)
      this.#helper?.stdin?.write(`${line}\n`)
    })
  }
}
