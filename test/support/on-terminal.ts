import { spawn, spawnSync } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { withPrograms } from './bare-path.ts'
import type { TestHome } from './homes.ts'
import { NODE, PROGRAM } from './program.ts'

export const SCRIPT = withPrograms('script', 'stty')

/** Why there is no terminal to test on; false if there is one. */
export const noTerminal =
  SCRIPT.missing ||
  (spawnSync('script', ['-qec', 'true', '/dev/null'], { env: { PATH: SCRIPT.path } }).status !== 0 &&
    'needs a terminal: /dev/pts')

/** The output of a command on a terminal, which `script` provides. */
export async function onTerminal(home: TestHome, args: readonly string[]): Promise<string> {
  const env = { PATH: SCRIPT.path, HOME: process.env['HOME'], TERM: 'dumb', NO_COLOR: '1' }
  const own = { DATA_DIR: home.dataDir, DATABASE_URL: home.databaseUrl }
  const command = [NODE, PROGRAM, ...args].map((word) => `'${word}'`).join(' ')
  const child = spawn('script', ['-q', '-e', '-c', command, '/dev/null'], {
    env: { ...env, ...own },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  return (await text(child.stdout)).replaceAll('\r', '')
}
