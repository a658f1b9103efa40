import { accessSync, constants } from 'node:fs'
import { extname } from 'node:path'
import { asset } from '../base/package-root.ts'
import { FRUGAL_FLAGS } from '../base/start/frugal.ts'
import type { Hook } from './discover.ts'
import type { HookTarget } from './environment.ts'

const isOurs = ({ path }: Hook) => path.startsWith(asset('plugins', 'plugins'))

/** Whether this hook of ours lives as long as the crawl, and keeps nothing of the data that passes through it. */
export const isFrugal = (hook: Hook): boolean => hook.background && isOurs(hook)

/** The command that runs a hook. */
export function commandOf(hook: Hook, target: HookTarget): string[] {
  return [...interpreter(hook), ...(target.args ?? [`--url=${target.url}`])]
}

const RUNTIMES = new Map([
  ['.js', process.execPath],
  ['.py', 'python3'],
  ['.sh', 'bash'],
])

/**
 * The interpreter. An executable runs by its shebang, a file without the execute bit by its extension, and our own
 * JavaScript on our own Node.
 */
function interpreter(hook: Hook): string[] {
  const { path } = hook
  const runtime = RUNTIMES.get(extname(path))
  if (runtime && isOurs(hook)) return [runtime, ...(isFrugal(hook) ? FRUGAL_FLAGS : []), path]
  try {
    accessSync(path, constants.X_OK)
    return [path]
  } catch {
    return runtime ? [runtime, path] : [path]
  }
}
