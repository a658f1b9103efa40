import { attemptName } from '../base/attempt-paths.ts'
import { type LoggedEnd, readRowLog, saidIn } from '../base/row-log.ts'
import { bootId, hasProc } from '../processes/proc.ts'
import type { Hook } from './discover.ts'
import type { HostedOutcome } from './host-protocol.ts'
import type { Exit, HookLogs } from './launch.ts'

/** One hook, to be run by the host. */
export interface HostedRun {
  readonly hook: Hook
  readonly attempt: number
  readonly outputDir: string
  /** The files that it writes are published as they are, not as copies. */
  readonly isMoved: boolean
  /** It reads the files of the others of its job as if they were published already. */
  readonly isAhead: boolean
  /** The files for its stderr when it has ended, and for its stdout if it must run in its own process. */
  readonly logs: HookLogs
}

/**
 * How a hosted hook ended: with the exit code that its own process would have had, at its deadline, or because the host
 * was killed.
 */
export interface HostedEnd {
  readonly hook: Hook
  readonly logs: HookLogs
  readonly exit: Exit
  readonly cause: 'exit' | 'timeout' | 'force'
  /** By `performance.now()`. */
  readonly began: number
  readonly ended: number
  /** Its output. */
  readonly stdout: string
  /** What it said on stderr; its file has yet to be written. */
  readonly said: string
  /** The files that it wrote are on disk. */
  readonly isFlushed?: boolean
}

/** The name of an attempt in the log. */
export const nameOf = ({ hook, attempt }: Pick<HostedRun, 'hook' | 'attempt'>): string =>
  attemptName(hook.plugin, hook.name, attempt)

/** The end of a hook as the host reports it. @param log has its output, unless the host reports that, too */
export function endOf(
  run: HostedRun,
  { code, stdout, complained, isFlushed, began, ended }: HostedOutcome,
  log: string,
): HostedEnd {
  const now = performance.now()
  return {
    hook: run.hook,
    logs: run.logs,
    exit: { code, signal: null },
    cause: 'exit',
    began: now - began,
    ended: now - ended,
    stdout: stdout ?? readRowLog(log).get(nameOf(run))!.stdout,
    said: complained ? saidIn(log, nameOf(run)) : '',
    isFlushed,
  }
}

/**
 * The ends of the hooks of a job that have ended, in order: each began when the one before it had ended.
 * @param since when the first of them began, by `performance.now()`
 */
export function endedBy(
  log: ReadonlyMap<string, LoggedEnd>,
  runs: readonly Pick<HostedRun, 'hook' | 'attempt' | 'logs'>[],
  since: number,
): HostedEnd[] {
  const ends: HostedEnd[] = []
  let began = since
  for (const run of runs) {
    const logged = log.get(nameOf(run))
    if (!logged) break
    const now = performance.now()
    // The system's clock may have been set meanwhile.
    const ended = Math.min(Math.max(began, now - (Date.now() - logged.at)), now)
    ends.push(loggedEnd(run, logged, began, ended))
    began = ended
  }
  return ends
}

/**
 * Whether the end of a hook still counts. One from before the machine booted may be on disk although the hook's files
 * were lost on their way there.
 */
export const isOfNow = (end: LoggedEnd): boolean => hasProc && end.bootId === bootId()

/** The end of a hook according to the log. */
export function loggedEnd(
  { hook, logs }: Pick<HostedRun, 'hook' | 'logs'>,
  { stdout, said }: LoggedEnd,
  began: number,
  ended: number,
): HostedEnd {
  // Its own record decides, not the exit code.
  return { hook, logs, exit: { code: 0, signal: null }, cause: 'exit', began, ended, stdout, said }
}
