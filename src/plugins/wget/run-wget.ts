import { spawn } from 'node:child_process'
import type { HookContext } from '../base/contract.ts'

const MAX_LOG_CHARS = 1_000_000

export interface WgetExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Both output streams. */
  readonly log: string
}

/**
 * Runs wget in `cwd` and waits for it; kills it when the signal aborts. It stays in our process group, so it dies with
 * us. The kernel limits every file to `maxFileBytes`, because wget's own quota does not apply to a single file.
 */
export function runWget(
  program: string,
  args: readonly string[],
  cwd: string,
  maxFileBytes: number,
  context: Pick<HookContext, 'env' | 'signal'>,
): Promise<WgetExit> {
  return new Promise((resolve, reject) => {
    // POSIX counts ulimit -f in blocks of 512 bytes.
    const script = `ulimit -f ${Math.ceil(maxFileBytes / 512)}; exec "$0" "$@"`
    const child = spawn('/bin/sh', ['-c', script, program, ...args], {
      cwd,
      // Its messages are read below.
      env: { ...context.env, LC_ALL: 'C.UTF-8', LANGUAGE: '' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let log = ''
    const take = (text: string) => {
      if (log.length < MAX_LOG_CHARS) log += text
    }
    child.stdout.setEncoding('utf8').on('data', take)
    child.stderr.setEncoding('utf8').on('data', take)
    const kill = () => child.kill('SIGKILL')
    context.signal.addEventListener('abort', kill, { once: true })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      context.signal.removeEventListener('abort', kill)
      resolve({ code, signal, log })
    })
  })
}
