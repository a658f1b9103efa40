import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { newFolder } from '../folders.ts'
import type { TestHome } from '../homes.ts'
import { SCRIPT } from '../on-terminal.ts'
import { AS_OURSELVES, NODE, PROGRAM } from '../program.ts'
import { SmallTerminal } from '../small-terminal.ts'

/** The outcome of a shell line. */
export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Programs that plugins look for: present on every machine here. */
const OTHERS = ['chromium', 'git', 'wget', 'yt-dlp']

/** The final text on the screen; paths, whose lengths differ, are not wrapped. */
const shown = (written: string) => new SmallTerminal(UNBOUNDED, UNBOUNDED).write(written).lines.join('\n')
const UNBOUNDED = 100_000

/**
 * A shell in which commands are typed: `archivebox-ts` is our program with this home, and `$SITE` the site to archive.
 */
export class Shell {
  readonly desk = newFolder()
  readonly env: NodeJS.ProcessEnv

  constructor({ dataDir, databaseUrl }: TestHome, site: string) {
    const bin = join(this.desk, 'bin')
    mkdirSync(bin)
    const put = (name: string, script: string) => {
      writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`)
      chmodSync(join(bin, name), 0o755)
    }
    put('archivebox-ts', `exec '${NODE}' '${PROGRAM}' "$@"`)
    for (const name of OTHERS) put(name, 'echo 9999.9.9')
    this.env = {
      ...AS_OURSELVES,
      ...{ PATH: [bin, SCRIPT.path].join(delimiter), HOME: this.desk, TZ: 'UTC', NO_COLOR: '1', TERM: 'xterm' },
      ...{ SHELL: '/bin/sh', DATA_DIR: dataDir, DATABASE_URL: databaseUrl, SITE: site },
    }
  }

  /** Runs a line with an empty stdin. */
  async run(line: string): Promise<Ended> {
    return await this.#spawn('sh', '-c', line)
  }

  /** Runs it on a terminal of 80 columns, where stdout and stderr are one. */
  async onTerminal(line: string): Promise<Ended> {
    const ended = await this.#spawn('script', '-qec', `stty rows 24 cols 80; ${line}`, '/dev/null')
    return { ...ended, stdout: shown(ended.stdout) }
  }

  close(): void {
    rmSync(this.desk, { recursive: true, force: true })
  }

  async #spawn(command: string, ...args: readonly string[]): Promise<Ended> {
    const child = spawn(command, args, { cwd: this.desk, env: this.env, stdio: ['ignore', 'pipe', 'pipe'] })
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
    return { code: await ended, stdout, stderr }
  }
}
