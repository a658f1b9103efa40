import type { TestHome } from '../homes.ts'
import { RowNames } from './row-names.ts'
import { sameEverywhere } from './same-everywhere.ts'
import type { Ended, Shell } from './shell.ts'

/** How many read-only commands run at the same time. */
const AT_ONCE = 4

/** The commands and their results, as a text to compare. Commands refer to rows by names: `crawl show crawl-02`. */
export class Transcript {
  text = ''
  readonly #home: TestHome
  readonly #shell: Shell
  readonly #names: RowNames

  constructor(home: TestHome, shell: Shell) {
    this.#home = home
    this.#shell = shell
    this.#names = new RowNames(home)
  }

  /** Runs read-only commands: each as it is, with `--json`, and with `-q`. */
  async read(...commands: readonly string[]): Promise<void> {
    const ways = commands.flatMap((command) => [command, `${command} --json`, `${command} -q`])
    const said = await this.#sideBySide(ways, (line) => this.#shell.run(line))
    for (const [index, words] of said.entries()) {
      const plain = said[index - (index % 3)]!
      this.#add(ways[index]!, index % 3 > 0 && words === plain ? 'the same\n' : words)
    }
  }

  /** Runs commands that change nothing, or whose order does not matter. */
  async once(...commands: readonly string[]): Promise<void> {
    const said = await this.#sideBySide(commands, (line) => this.#shell.run(line))
    for (const [index, words] of said.entries()) this.#add(commands[index]!, words)
  }

  /** Runs commands one after another. */
  async act(...commands: readonly string[]): Promise<void> {
    for (const command of commands) await this.once(command)
  }

  /** Runs commands on a terminal that change nothing. */
  async look(...commands: readonly string[]): Promise<void> {
    const said = await this.#sideBySide(commands, (line) => this.#shell.onTerminal(line))
    for (const [index, words] of said.entries()) this.#add(commands[index]!, words)
  }

  /** Runs commands on a terminal, one after another. */
  async actInSight(...commands: readonly string[]): Promise<void> {
    for (const command of commands) await this.look(command)
  }

  #add(command: string, words: string): void {
    this.text += `${this.text === '' ? '' : '\n'}$ ${whole(command)}\n${words}`
  }

  async #sideBySide(commands: readonly string[], run: (line: string) => Promise<Ended>): Promise<string[]> {
    await this.#names.look()
    const ended: Ended[] = []
    const left = [...commands.entries()]
    const worker = async () => {
      for (let next = left.shift(); next; next = left.shift()) {
        ended[next[0]] = await run(whole(this.#names.typed(next[1])))
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
    await this.#names.look()
    const same = (text: string) => sameEverywhere(this.#names.shown(text), this.#home, this.#shell.desk)
    return ended.map(({ code, stdout, stderr }) => words({ code, stdout: same(stdout), stderr: same(stderr) }))
  }
}

/** `crawl list` is short for a call of our program; a line that begins with another shell word stays as it is. */
const whole = (command: string) =>
  /^(archivebox-ts|[A-Z_]+=|(cat|cd|echo|printf|sort) )/.test(command) ? command : `archivebox-ts ${command}`

function words({ code, stdout, stderr }: Ended): string {
  const streams = [['stdout', stdout] as const, ['stderr', stderr] as const]
  const said = streams.map(([name, text]) => (text === '' ? '' : `${name}:\n${indented(text)}`))
  return `[exit ${code}]\n${said.join('')}`
}

function indented(text: string): string {
  const lines = text.replaceAll(/^(?=.)/gm, '  ')
  return lines.endsWith('\n') ? lines : `${lines}\n(without a line break)\n`
}
