import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { failpoint } from '../base/failpoint.ts'
import { uuidv7 } from '../base/ids.ts'
import { asset } from '../base/package-root.ts'
import { insertStarting, markEnded, markRunning } from '../db/processes.ts'
import { type Container, containerFor, familyIn, openContainer } from '../processes/containment/containment.ts'
import { type Family, killFamily, MARKER } from '../processes/family.ts'
import { identityOf } from '../processes/identity.ts'
import { spawned } from '../processes/spawned.ts'
import type { Hook } from './discover.ts'
import { hookEnvironment } from './environment.ts'
import type { HostJob, HostReply } from './host-protocol.ts'
import { closeUnstarted, type Exit, type HookLogs, type HookScope } from './launch.ts'

/** A host that grew beyond this is replaced after the hook that it runs. */
const MAX_RSS_BYTES = 400 * 1024 * 1024
/** The host ends a hook at its deadline by an abort signal; one that does not listen is killed this much later. */
const ABORT_GRACE_MS = 1_000
/** How long an idle host may take to leave. */
const LEAVE_MS = 2_000

/** How a hosted hook ended: with the exit code that its own process would have had, at the deadline, or because we or it killed the host. */
export interface HostedEnd {
  readonly exit: Exit
  readonly cause: 'exit' | 'timeout' | 'force'
}

/** Our end of the warm host process (host.ts): started when first needed, replaced when a hook in it had to be killed. */
export class HookHost {
  readonly processId: string
  readonly #child: ChildProcess
  readonly #family: Family
  readonly #exited: Promise<Exit>
  readonly #recorded: Promise<void>
  #exit: Exit | undefined
  #rssBytes = 0

  private constructor(
    processId: string,
    child: ChildProcess,
    family: Family,
    exited: Promise<Exit>,
    recorded: Promise<void>,
  ) {
    this.processId = processId
    this.#child = child
    this.#family = family
    this.#exited = exited
    this.#recorded = recorded
    void exited.then((exit) => {
      this.#exit = exit
    })
  }

  /** Starts a host below `parentId`. Its own output goes to `logs`; hooks' output goes to the files of each job. */
  static async start(
    scope: Pick<HookScope, 'home' | 'parentId' | 'runnerId' | 'containment'>,
    cwd: string,
    log: string,
  ): Promise<HookHost> {
    const argv = [process.execPath, asset('hook-host.js', 'hooks/host.ts')]
    const id = uuidv7()
    const container = containerFor(scope.containment, { processId: id, workerId: scope.parentId }, argv)
    await insertStarting(scope.home, {
      id,
      processType: 'hook',
      parentId: scope.parentId,
      runnerId: scope.runnerId,
      pwd: cwd,
      cmd: argv,
      containment: container.tier,
      cgroup: container.cgroup,
      logs: { stdout: log, stderr: log },
    })
    await failpoint('spawn.host_row')
    const marks = { [MARKER.process]: id, [MARKER.worker]: scope.parentId, [MARKER.runner]: scope.runnerId }
    const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], ...marks }
    const child = await spawned(() => spawnHost(container, cwd, env, log)).catch(async (error: unknown) => {
      await closeUnstarted(scope.home, container, id)
      throw error
    })
    const exited = new Promise<Exit>((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })))
    await failpoint('spawn.host_spawned')
    const identity = await identityOf(child.pid).catch(() => null) // As in launch.ts.
    const record = async () => {
      if (identity) await markRunning(scope.home.db, id, identity)
      await failpoint('spawn.host_running')
      await markEnded(scope.home.db, id, await exited)
      await failpoint('shutdown.host_row_closed')
    }
    const recorded = record()
    recorded.catch(() => {})
    return new HookHost(id, child, familyIn(container, id, identity), exited, recorded)
  }

  /** Can it take another hook? */
  get usable(): boolean {
    return this.#exit === undefined && this.#child.connected && this.#rssBytes < MAX_RSS_BYTES
  }

  /** Runs one hook in the host. A hook that outlives its deadline, or `force`, costs the host its life. */
  async run(scope: HookScope, hook: Hook, outputDir: string, logs: HookLogs, force: AbortSignal): Promise<HostedEnd> {
    mkdirSync(dirname(logs.stdout), { recursive: true })
    const { runnerId, parentId: workerId } = scope
    const job: HostJob = {
      path: hook.path,
      url: scope.target.url,
      outputDir,
      env: hookEnvironment(scope.settings, scope.target, hook, { processId: this.processId, workerId, runnerId }),
      stdout: logs.stdout,
      stderr: logs.stderr,
      timeoutMs: hook.timeoutMs,
    }
    const finished = Promise.withResolvers<HostedEnd>()
    const onReply = (reply: HostReply) => {
      this.#rssBytes = reply.rssBytes
      finished.resolve({ exit: { code: reply.code, signal: null }, cause: 'exit' })
    }
    const timer = setTimeout(
      () => finished.resolve({ exit: { code: null, signal: 'SIGKILL' }, cause: 'timeout' }),
      hook.timeoutMs + ABORT_GRACE_MS,
    )
    const onForce = () => finished.resolve({ exit: { code: null, signal: 'SIGKILL' }, cause: 'force' })
    force.addEventListener('abort', onForce)
    this.#child.once('message', onReply)
    this.#exited.then((exit) => finished.resolve({ exit, cause: 'exit' }), finished.reject)
    this.#child.send(job, (error) => {
      if (error) this.kill().catch(finished.reject) // It died before it took the job: its end says how.
    })
    if (force.aborted) onForce()
    try {
      const end = await finished.promise
      // A host that ended by itself may have left children of a hook behind.
      if (end.cause !== 'exit' || this.#exit) await this.kill()
      return end
    } finally {
      clearTimeout(timer)
      force.removeEventListener('abort', onForce)
      this.#child.off('message', onReply)
    }
  }

  /** Ends an idle host: it leaves when its channel closes; one that stands still is killed. */
  async stop(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect()
    const late = setTimeout(() => this.#child.kill('SIGKILL'), LEAVE_MS)
    await this.#recorded.finally(() => clearTimeout(late))
  }

  async kill(): Promise<void> {
    await killFamily(this.#family)
    await failpoint('shutdown.host_killed')
    await this.#recorded
  }
}

function spawnHost(container: Container, cwd: string, env: NodeJS.ProcessEnv, log: string): ChildProcess {
  mkdirSync(dirname(log), { recursive: true })
  const output = openSync(log, 'a', 0o600)
  try {
    openContainer(container)
    return spawn(container.argv[0]!, container.argv.slice(1), {
      cwd,
      env,
      detached: true,
      stdio: ['ignore', output, output, 'ipc'],
    })
  } finally {
    closeSync(output)
  }
}
