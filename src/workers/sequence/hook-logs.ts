import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { earlierLogPaths, type LogPaths, logPaths } from '../../base/attempt-paths.ts'
import type { Hook } from '../../hooks/discover.ts'
import type { HookLogs } from '../../hooks/launch.ts'

/** The files for a hook's output: beside the plugins' directories, never inside one. */
export function logsFor(root: string, hook: Hook, attempt: number): HookLogs {
  return below(root, logPaths(hook.plugin, hook.name, attempt))
}

/** The log files of a hook, if they exist; also those of earlier versions. */
export function keptLogs(root: string, hook: Hook, attempt: number): HookLogs | undefined {
  const earlier = below(root, earlierLogPaths(hook.plugin, hook.name, attempt))
  return [logsFor(root, hook, attempt), earlier].find(({ stdout }) => existsSync(stdout))
}

const below = (root: string, { stdout, stderr }: LogPaths): HookLogs => ({
  stdout: join(root, stdout),
  stderr: join(root, stderr),
})
