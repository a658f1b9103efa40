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
 * @param input what it reads on stdin
 */
export function runWget(
  program: string,
  args: readonly string[],
  cwd: string,
  maxFileBytes: number,
  context: Pick<HookContext, 'env' | 'signal'>,
  input: string,
): Promise<WgetExit> {
  return new Promise((resolve, reject) => {
    // POSIX counts ulimit -f in blocks of 512 bytes. wget opens /dev/stdin: that fails for the socket that Node makes
    // of a pipe, and not for what a shell makes of a here-document.
    const script = `ulimit -f ${Math.ceil(maxFileBytes / 512)}; input=$(cat); exec "$0" "$@" <<END\n$input\nEND`
    const child = spawn('/bin/sh', ['-c', script, program, ...args], {
      cwd,
      // Its messages are read below.
      env: { ...context.env, LC_ALL: 'C.UTF-8', LANGUAGE: '' },
      stdio: 'pipe',
    })
    child.stdin.on('error', () => {}) // It may end without reading.
    child.stdin.end(input)
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
