import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { AppError, codeOf, messageOf } from '../../base/errors.ts'
import type { Account } from './account.ts'

/** How a PostgreSQL program ended, and its output, if stdout or stderr was a pipe. */
export interface ProgramEnd {
  readonly code: number | null
  readonly output: string
}

/**
 * Runs one of PostgreSQL's programs to its end, as `account`; `input` goes to its stdin if that is a pipe. In its own
 * session, so that a Ctrl-C for us never reaches it; with its own environment, because ours has secrets and PG*
 * settings. `cwd` is the root: the account need not be able to read our folder.
 */
export async function runProgram(
  file: string,
  args: string[],
  account: Account | undefined,
  stdio: StdioOptions,
  input?: string,
): Promise<ProgramEnd> {
  const child = spawnAs(file, args, account, stdio)
  // A program that ends before it has read everything reports why itself.
  child.stdin?.on('error', () => undefined).end(input)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-20_000)
    })
  }
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(cannotRun(file, account, error)))
    child.once('close', (code, signal) =>
      // Ctrl-C was pressed before it had its session.
      resolve(signal === 'SIGINT' ? runProgram(file, args, account, stdio, input) : { code, output }),
    )
  })
}

function spawnAs(file: string, args: string[], account: Account | undefined, stdio: StdioOptions): ChildProcess {
  const env = { PATH: '/usr/bin:/bin', HOME: '/', LC_ALL: 'C', TZ: 'UTC' }
  try {
    return spawn(file, args, {
      cwd: '/',
      env,
      stdio,
      detached: true,
      ...(account && { uid: account.uid, gid: account.gid }),
    })
  } catch (error) {
    throw cannotRun(file, account, error)
  }
}

function cannotRun(file: string, account: Account | undefined, error: unknown): AppError {
  const cannotSwitch = account !== undefined && (codeOf(error) === 'EPERM' || codeOf(error) === 'EINVAL')
  const why = cannotSwitch ? `this process may not switch to user ${account.name}` : messageOf(error)
  return new AppError(`PostgreSQL cannot be run from ${file}: ${why}`, {
    hint: cannotSwitch
      ? 'Run as an ordinary user, or set DATABASE_URL.'
      : 'Set DATABASE_URL to use a server of your own.',
    cause: error,
  })
}
