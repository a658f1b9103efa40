import { spawn } from 'node:child_process'

const PATIENCE_MS = 2_000

/** Whether this command runs here, and succeeds. */
export async function runs(argv: readonly string[]): Promise<boolean> {
  return await new Promise((resolve) => {
    // None of our marks: this is not part of our work.
    const env = { PATH: process.env['PATH'] }
    const child = spawn(argv[0]!, argv.slice(1), { env, stdio: 'ignore', timeout: PATIENCE_MS, killSignal: 'SIGKILL' })
    child.once('error', () => resolve(false))
    child.once('exit', (code) => resolve(code === 0))
  })
}
