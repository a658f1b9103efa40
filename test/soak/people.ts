import type { TestHome } from '../support/homes.ts'
import type { Finished } from '../support/program.ts'
import type { Added, Ledger } from './ledger.ts'

/**
 * What most crawls do; and what some do: hooks that daemonise, fork, hide, do not listen, print rubbish, fail for a
 * while.
 */
const PLUGINS = 'headers,html,title,exit_1,stages,oracle,hashes'
const HOSTILE =
  'html,title,oracle,family,setsid_away,forks_grandchild,leaves_early,ignores_term,prints_garbage,temporary,' +
  'kills_its_worker,hashes'
const HOSTILE_SETTINGS = [
  'IGNORES_TERM_TIMEOUT=2',
  'BACKGROUND_GRACE=2',
  'TEMPORARY_TIMES=1',
  'HOOK_RETRY_SECONDS=1',
  'KILLER_URL=7.html',
]
export const INSTALLED = [...new Set([...PLUGINS.split(','), ...HOSTILE.split(',')])].filter(
  (plugin) => !['headers', 'html', 'title', 'hashes'].includes(plugin),
)

/** The people who use the program while it is tormented: their commands, and what they may expect of them. */
export class People {
  readonly #home: TestHome
  readonly #ledger: Ledger
  readonly #site: string
  readonly #captures: readonly string[]
  #nextPage = 1

  constructor(home: TestHome, ledger: Ledger, site: string, captures: readonly string[]) {
    this.#home = home
    this.#ledger = ledger
    this.#site = site
    this.#captures = captures
  }

  start(...args: string[]): { pid: number; end: Promise<Finished> } {
    const running = this.#home.start(args, { env: { DATABASE_URL: '' } })
    const end = running.finished(120_000).then((finished) => {
      this.#ledger.judge(args, finished)
      return finished
    })
    return { pid: running.pid, end }
  }

  async command(...args: string[]): Promise<Finished> {
    return await this.start(...args).end
  }

  /** Adds so many pages; kills the command after a while when told so. Every fifth crawl is a hostile one. */
  async add(
    count: number,
    { options = [], killAfterMs }: { options?: readonly string[]; killAfterMs?: number } = {},
  ): Promise<void> {
    const urls = Array.from({ length: count }, (_, index) => `${this.#site}/page-${this.#nextPage + index}.html`)
    this.#nextPage += count
    const hostile = this.#ledger.added.length % 5 === 4
    const added: Added = { urls, plugins: [hostile ? HOSTILE : PLUGINS, ...this.#captures].join(), id: undefined }
    this.#ledger.added.push(added)
    const settings = hostile ? HOSTILE_SETTINGS.flatMap((setting) => ['-c', setting]) : []
    const args = ['add', '--again', ...options, '--plugins', added.plugins, ...settings, ...urls]
    const running = this.#home.start(args, { env: { DATABASE_URL: '' } })
    const timer = killAfterMs === undefined ? undefined : setTimeout(() => running.signal('SIGKILL'), killAfterMs)
    const end = await running.finished(options.length > 0 ? 2 ** 31 - 1 : 120_000)
    clearTimeout(timer)
    this.#ledger.judge(args, end)
    added.id = end.stdout === '' ? undefined : (JSON.parse(end.stdout.split('\n')[0]!) as { id: string }).id
  }

  crawlAt(pick: number): string | undefined {
    return this.#ledger.crawls[Math.floor(pick * this.#ledger.crawls.length)]
  }

  /** One of the newest pages: those are most likely still to be done. */
  async pageAt(pick: number): Promise<{ id: string; crawl_id: string } | undefined> {
    const { code, stdout } = await this.command('snapshot', 'list', '-n', '40')
    const pages = code === 0 ? recordsIn<{ id: string; crawl_id: string }>(stdout) : []
    return pages[Math.floor(pick * pages.length)]
  }

  /** Ends one of the processes that the program itself lists. */
  async processKill(pick: number, ...options: string[]): Promise<void> {
    const { code, stdout } = await this.command('process', 'list')
    const processes = code === 0 ? recordsIn<{ id: string }>(stdout) : []
    const one = processes[Math.floor(pick * processes.length)]
    if (one) await this.command('process', 'kill', ...options, one.id)
  }

  /** Whatever happens: what is asked is answered, in whole lines of JSON or with an error. */
  async lookAround(): Promise<void> {
    for (const args of [
      ['status', '--json'],
      ['process', 'list'],
      ['crawl', 'list'],
      ['process', 'tree'],
      ['db', 'status'],
    ]) {
      const { stdout } = await this.command(...args)
      try {
        if (args[0] !== 'db') recordsIn(stdout)
      } catch {
        this.#ledger.complaints.push(`${args.join(' ')}: not JSON: ${stdout.slice(0, 200)}`)
      }
    }
  }
}

/** What a command printed, one record a line. */
export function recordsIn<Row>(stdout: string): Row[] {
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Row)
}
