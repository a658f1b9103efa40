import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { withPrograms } from './bare-path.ts'
import { newFolder, type TestHome } from './homes.ts'
import { eventually, NODE, PROGRAM } from './program.ts'

const TMUX = withPrograms('tmux')

/** Why tests in a terminal cannot run here; false: they can. */
export const noTmux =
  TMUX.missing ||
  (spawnSync('tmux', ['-L', `probe-${process.pid}`, 'new-session', '-d', 'true'], { env: { PATH: TMUX.path } })
    .status !== 0 &&
    'needs a terminal: /dev/pts')

/** A command in a real terminal, which can be read, typed into and resized. */
export class Terminal {
  readonly #folder = newFolder()

  /** @param command a shell command; `PROGRAM` in it is our program with this home */
  constructor(
    home: TestHome,
    command: string,
    { columns, rows = 24, term = 'screen-256color' }: { columns: number; rows?: number; term?: string },
  ) {
    const env = { DATA_DIR: home.dataDir, DATABASE_URL: home.databaseUrl, TERM: term, PATH: process.env['PATH'] }
    const words = Object.entries(env).map(([name, value]) => `${name}='${value}'`)
    const program = ['env', ...words, `'${NODE}'`, `'${PROGRAM}'`].join(' ')
    const size = ['-x', String(columns), '-y', String(rows)]
    // Ctrl-C is for the program: the shell stays, to report how it ended.
    const shell = `trap : INT; ${command.replaceAll('PROGRAM', program)}; echo "exit code $?"; exec cat`
    this.#tmux('-f', '/dev/null', 'new-session', '-d', ...size, `sh -c ${quoted(shell)}`)
  }

  /** The text on the screen, without blank lines at its end. */
  get lines(): string[] {
    return this.#tmux('capture-pane', '-p').trimEnd().split('\n')
  }

  keys(...keys: readonly string[]): void {
    this.#tmux('send-keys', ...keys)
  }

  resize(columns: number, rows: number): void {
    this.#tmux('resize-window', '-x', String(columns), '-y', String(rows))
  }

  /** Waits until the screen matches. @returns its lines */
  async shows(pattern: RegExp, ms = 60_000): Promise<string[]> {
    const found = () => pattern.test(this.lines.join('\n'))
    await eventually(found, ms).catch(() => expect(this.lines.join('\n')).toMatch(pattern))
    return this.lines
  }

  close(): void {
    try {
      this.#tmux('kill-server')
    } finally {
      rmSync(this.#folder, { recursive: true, force: true })
    }
  }

  #tmux(...args: readonly string[]): string {
    const env = { PATH: TMUX.path, LC_ALL: 'C.UTF-8', HOME: this.#folder }
    const { stdout, stderr, status } = spawnSync('tmux', ['-u', '-S', join(this.#folder, 'socket'), ...args], { env })
    if (status !== 0) throw new Error(`tmux ${args[0]}: ${stderr}`)
    return stdout.toString('utf8')
  }
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
