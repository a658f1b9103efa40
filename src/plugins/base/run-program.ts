import { spawn } from 'node:child_process'
import type { HookContext } from '../../hooks/contract.ts'

const MAX_LOG_CHARS = 1_000_000

/** How a program ended. */
export interface ProgramExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Both output streams. */
  readonly log: string
}

interface RunOptions {
  readonly cwd: string
  /** The kernel limits every file that it writes to this many bytes: the program reports `File too large`. */
  readonly maxFileBytes: number
  /** Whether it is killed at that limit (SIGXFSZ), because it does not report why it could not write. */
  readonly diesAtLimit?: boolean
  /** Its stdin. */
  readonly input?: string
  /** Added to the hook's own environment. */
  readonly env?: Readonly<Record<string, string>>
}

/**
 * Runs a program and waits for it. It leads its own process group, because git and yt-dlp start further programs: when
 * the signal aborts, all of them are killed. (If the hook itself is killed, they are found by the hook's mark in their
 * environment.)
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  { cwd, maxFileBytes, diesAtLimit = false, input = '', env = {} }: RunOptions,
  context: Pick<HookContext, 'env' | 'signal'>,
): Promise<ProgramExit> {
  context.signal.throwIfAborted()
  const exit = Promise.withResolvers<ProgramExit>()
  // POSIX counts ulimit -f in blocks of 512 bytes. With the signal ignored, the write fails instead. Programs open
  // /dev/stdin: that fails for the socket that Node uses as a pipe, but not for a shell's here-document.
  const limit = `${diesAtLimit ? '' : "trap '' XFSZ; "}ulimit -f ${Math.ceil(maxFileBytes / 512)}`
  const script = `${limit}; input=$(cat); exec "$0" "$@" <<END\n$input\nEND`
  const child = spawn('/bin/sh', ['-c', script, program, ...args], {
    cwd,
    detached: true,
    // We parse its messages.
    env: { ...context.env, ...env, LC_ALL: 'C.UTF-8', LANGUAGE: '' },
    stdio: 'pipe',
  })
  child.stdin.on('error', () => {}) // It may exit without reading.
  child.stdin.end(input)
  let log = ''
  const take = (text: string) => {
    if (log.length < MAX_LOG_CHARS) log += text
  }
  child.stdout.setEncoding('utf8').on('data', take)
  child.stderr.setEncoding('utf8').on('data', take)
  const kill = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {} // The whole group has ended.
  }
  context.signal.addEventListener('abort', kill, { once: true })
  child.on('error', exit.reject)
  child.on('close', (code, signal) => exit.resolve({ code, signal, log }))
  try {
    return await exit.promise
  } finally {
    context.signal.removeEventListener('abort', kill)
  }
}
