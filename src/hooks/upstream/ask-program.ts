import { execFile } from 'node:child_process'

/** As whom, with which environment and how long a program is asked something. */
export interface AskedAs {
  readonly env: Readonly<Record<string, string>>
  /** What stands before the command to have it run as another account. */
  readonly become?: readonly string[]
  /** It is killed when it takes longer. */
  readonly withinMs?: number
}

/** What a program answered. */
export interface Answer {
  readonly stdout: string
  readonly stderr: string
  readonly hasSucceeded: boolean
  readonly isLate: boolean
}

/** Runs a program for what it prints, up to 1 MiB, without stdin. */
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
