import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'

/** The built program: what is measured is what ships. */
export const MAIN = join(dirname(dirname(import.meta.dirname)), 'dist', 'main.js')

/** The environment of everything that is measured: ours, without what would change the program's ways. */
export const cleanEnv: NodeJS.ProcessEnv = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(ARCHIVEBOX_|ABX_|PG|DATA_DIR$|DATABASE_URL$|LOG_LEVEL$|NODE_|npm_|.*_ENABLED$)/.test(name),
  ),
)

export interface Ran {
  /** From just before the spawn to the exit. */
  readonly ms: number
  readonly stdout: string
}

const children = new Set<ChildProcess>()

/** Starts the Node that runs us, in a clean environment unless another is given. */
export function startNode(args: readonly string[], options: SpawnOptions): ChildProcess {
  return startProgram(process.execPath, args, options)
}

/** The same for any program. */
export function startProgram(program: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const child = spawn(program, args, { env: cleanEnv, ...options })
  children.add(child)
  child.once('exit', () => children.delete(child))
  return child
}

/** For an end by a signal. What they started leaves by itself when they are gone. */
export function killChildren(): void {
  for (const child of children) child.kill('SIGKILL')
}

/** Runs a Node of the version that runs us, to its end. Throws when that is not exit code 0. */
export async function runNode(args: readonly string[]): Promise<Ran> {
  const begun = performance.now()
  const child = startNode(args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const output = Promise.all([text(child.stdout!), text(child.stderr!)])
  const [code, signal] = await once(child, 'exit')
  const ms = performance.now() - begun
  const [stdout, stderr] = await output
  if (code !== 0) throw new Error(`${args.slice(0, 6).join(' ')} ended with ${signal ?? code}: ${stderr.trim()}`)
  return { ms, stdout }
}

/** Runs a command of the program on a data dir. */
export async function archivebox(dataDir: string, ...args: readonly string[]): Promise<Ran> {
  return await runNode([MAIN, '--data-dir', dataDir, ...args])
}

/** The rival of most: a Node that starts and does nothing. */
export async function nodeStartMs(): Promise<number> {
  return (await runNode(['-e', '0'])).ms
}

/** Asks `look` every `everyMs` until it answers with something. Throws after a minute. */
export async function until<T>(what: string, everyMs: number, look: () => Promise<T | undefined>): Promise<T> {
  const deadline = performance.now() + 60_000
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (performance.now() > deadline) throw new Error(`${what}: not within a minute`)
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
}
