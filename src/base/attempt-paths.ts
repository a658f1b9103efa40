/** Where the hooks of a snapshot work, below its folder; there while a worker is at it. */
export const WORK = '.work'

/** The name of one attempt of a hook, unique within its snapshot. */
export function attemptName(plugin: string, hook: string, attempt: number): string {
  return `${plugin}.${hook}.${attempt}`
}

/** The log files of an attempt, below the folder of its snapshot. */
export interface LogPaths {
  readonly stdout: string
  readonly stderr: string
}

/** All in one folder: a folder per plugin would cost one more inode per log. */
export function logPaths(plugin: string, hook: string, attempt: number): LogPaths {
  return logsAt(attemptName(plugin, hook, attempt))
}

/**
 * The output of a snapshot's hooks that ran in a host, below its folder; they have no `stdout` of their own. Not
 * `.log`: some desktops call that text/x-log, and then a browser does not show it.
 */
export const HOSTED_LOG = '.logs/hosted.txt'

/** Where earlier versions put them: in a folder per plugin. */
export function earlierLogPaths(plugin: string, hook: string, attempt: number): LogPaths {
  return logsAt(`${plugin}/${hook}.${attempt}`)
}

/** The files of a failed attempt, below the folder of its snapshot. */
export function leftoversPath(plugin: string, hook: string, attempt: number): string {
  return `.attempts/${attemptName(plugin, hook, attempt)}`
}

const logsAt = (name: string): LogPaths => ({
  stdout: `.logs/${name}.stdout.log`,
  stderr: `.logs/${name}.stderr.log`,
})
