import { execFile } from 'node:child_process'
import type { AccountSwitch } from '../../processes/containment/account-switch.ts'

/** The account, environment and time limit for a question to a program. */
export interface AskedAs {
  readonly env: Readonly<Record<string, string>>
  /** The account that it runs as, if not ours. */
  readonly become?: Becoming | undefined
  /** It is killed when it takes longer. */
  readonly withinMs?: number
}

/** Another account, and the command that runs others as it. */
export type Becoming = Pick<AccountSwitch, 'name' | 'argv'>

/** The answer of a program. */
export interface Answer {
  readonly stdout: string
  readonly stderr: string
  readonly hasSucceeded: boolean
  readonly isLate: boolean
  /** The other account cannot start it: it, or what runs it, is out of its reach. */
  readonly isOutOfReach: boolean
}

// What changes the account has root's rights until its command runs: so that is a shell. It says what it cannot start,
// as do scripts that start something else; a program may also end with the same codes (POSIX) for reasons of its own.
const SHELL = ['/bin/sh', '-c', 'exec "$@"', 'archivebox-ts'] as const
const NOT_STARTED: readonly unknown[] = [126, 127]
const OUT_OF_REACH = /: \/.*: (?:permission denied|no such file or directory|not found)/i

/** Runs a program for its output, up to 1 MiB, without stdin. */
export function askProgram(
  abspath: string,
  args: readonly string[],
  { env, become, withinMs }: AskedAs,
): Promise<Answer> {
  return new Promise((resolve) => {
    const options = {
      env: become ? { ...env, LC_ALL: 'C' } : env,
      cwd: '/',
      timeout: withinMs ?? 0,
      killSignal: 'SIGKILL',
      maxBuffer: 1024 * 1024,
    } as const
    const [first = '', ...rest] = [...(become ? [...become.argv, ...SHELL] : []), abspath, ...args]
    const child = execFile(first, rest, options, (error, stdout, stderr) =>
      resolve({
        ...{ stdout, stderr, hasSucceeded: error === null, isLate: error?.killed === true },
        isOutOfReach: become !== undefined && NOT_STARTED.includes(error?.code) && OUT_OF_REACH.test(stderr),
      }),
    )
    child.stdin?.end()
  })
}
