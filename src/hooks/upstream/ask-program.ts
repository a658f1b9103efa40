import { execFile } from 'node:child_process'

/** The account, environment and time limit for a question to a program. */
export interface AskedAs {
  readonly env: Readonly<Record<string, string>>
  /** The prefix that runs the command as another account. */
  readonly become?: readonly string[]
  /** It is killed when it takes longer. */
  readonly withinMs?: number
}

/** The answer of a program. */
export interface Answer {
  readonly stdout: string
  readonly stderr: string
  readonly hasSucceeded: boolean
  readonly isLate: boolean
}

/** Runs a program for its output, up to 1 MiB, without stdin. */
export function askProgram(
  abspath: string,
  args: readonly string[],
  { env, become = [], withinMs }: AskedAs,
): Promise<Answer> {
  return new Promise((resolve) => {
    const options = { env, cwd: '/', timeout: withinMs ?? 0, killSignal: 'SIGKILL', maxBuffer: 1024 * 1024 } as const
    const [first = '', ...rest] = [...become, abspath, ...args]
    const child = execFile(first, rest, options, (error, stdout, stderr) =>
      resolve({ stdout, stderr, hasSucceeded: error === null, isLate: error?.killed === true }),
    )
    child.stdin?.end()
  })
}
