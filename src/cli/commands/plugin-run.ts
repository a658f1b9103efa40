import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { crawlPersona } from '../../app/add/crawl-persona.ts'
import { crawlSettings } from '../../app/add/new-crawl.ts'
import { askingOnce, enabledSetting } from '../../app/plugins/plugin-record.ts'
import { sleep } from '../../base/abort.ts'
import { harmless } from '../../base/clean.ts'
import { EXIT, messageOf } from '../../base/errors.ts'
import { uuidv7 } from '../../base/ids.ts'
import { Log } from '../../base/log.ts'
import { put } from '../../base/own.ts'
import { type Hook, type HookSettings, selectHooks } from '../../hooks/discover.ts'
import { type HookTarget, hookSettings } from '../../hooks/environment.ts'
import type { Exit, RunningHook } from '../../hooks/launch.ts'
import { describeExit, endedAsAsked, endForeground, exitWithin, terminateHooks } from '../../hooks/terminate.ts'
import { tryHook } from '../../hooks/try-hook.ts'
import { notFound } from '../../hooks/upstream/look-up.ts'
import { searchFiles, searchPaths, wantedBy } from '../../hooks/upstream/search.ts'
import { killLeftovers } from '../../processes/family.ts'
import { refusing, settingPairs } from '../crawl-options.ts'
import { sayMeanwhile } from '../meanwhile.ts'
import { pageUrl } from '../page-url.ts'
import { onStderr } from '../screen/palette.ts'
import type { Asked } from '../settings.ts'
import { printJson, terminal, terminalSink } from '../terminal.ts'
import { here, named } from './plugin.ts'

const READY_POLL_MS = 25
/** The exit codes of a shell for signals begin here. */
const SIGNALLED = 128
/** The last one comes when the terminal is closed. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** The exit code of `timeout`. */
const LATE = 124

export interface PluginRunOptions {
  readonly keep?: boolean
  readonly config: readonly string[]
}

/**
 * `plugin run NAME URL`: runs the hooks of a plugin, and of those that it requires, in a separate folder: neither the
 * database nor the archive is touched. Records go to stdout, everything else to stderr. The exit code is that of the
 * plugin's last failed hook.
 */
export async function pluginRun(asked: Asked, name: string, given: string, verb: PluginRunOptions): Promise<number> {
  const refuse = refusing(asked.problems)
  const own = crawlSettings(asked, settingPairs(asked.problems, verb.config), refuse)
  const persona = await crawlPersona(asked, own['ACTIVE_PERSONA'], { tell: sayMeanwhile, refuse })
  const { dataDir, plugins } = here(asked)
  named(plugins, [name])
  const texts = hookSettings([asked.settings.texts, persona, own, { [enabledSetting(name)]: 'true' }])
  const url = asked.problems.attempt(() => pageUrl(given))
  const events = ['CrawlSetup', 'Snapshot'] as const
  const hooks = events.flatMap((event) => selectHooks(plugins, event, texts, [name]).map((hook) => ({ event, hook })))
  if (!hooks.some(({ hook }) => hook.plugin === name)) asked.problems.add(`${name} has no hook for pages`)
  asked.problems.refuse()
  const folder = mkdtempSync(join(tmpdir(), 'archivebox-ts-plugin-'))
  const trial = new Trial(
    { dataDir, folder },
    {
      ...texts,
      ...(await programsFor(
        hooks.map(({ hook }) => hook),
        texts,
      )),
    },
    url!,
  )
  try {
    for (const { event, hook } of hooks) await trial.run(event, hook)
    await trial.end()
    await sayFiles(folder)
  } finally {
    trial.close()
    if (verb.keep) terminal.say(`kept in ${folder}`)
    else rmSync(folder, { recursive: true, force: true })
  }
  return trial.interrupted ? EXIT.interrupted : trial.exitCodeOf(name)
}

/** Hooks that run by hand, one after another; background ones alongside. */
class Trial {
  readonly #folder: string
  readonly #settings: Readonly<Record<string, string | undefined>>
  readonly #target: HookTarget
  readonly #background: RunningHook[] = []
  readonly #codes: (readonly [plugin: string, code: number])[] = []
  readonly #force = new AbortController()
  readonly #onSignal = () => this.#force.abort()

  constructor(
    { dataDir, folder }: { readonly dataDir: string; readonly folder: string },
    settings: Readonly<Record<string, string | undefined>>,
    url: string,
  ) {
    this.#folder = folder
    this.#settings = settings
    const [crawlDir, snapDir] = [join(folder, 'crawl'), join(folder, 'snapshot')]
    this.#target = { dataDir, crawlId: uuidv7(), crawlDir, snapshotId: uuidv7(), snapDir, depth: 0, url }
    for (const signal of SIGNALS) process.on(signal, this.#onSignal)
  }

  get interrupted(): boolean {
    return this.#force.signal.aborted
  }

  /** The exit code of the last failed hook of this plugin, else 0. */
  exitCodeOf(plugin: string): number {
    return this.#codes.findLast(([of, code]) => of === plugin && code !== 0)?.[1] ?? 0
  }

  /** Runs a foreground hook to its end; a background hook until it prints something, and from then on alongside. */
  async run(event: 'CrawlSetup' | 'Snapshot', hook: Hook): Promise<void> {
    if (this.interrupted) return
    const { crawlDir, snapDir } = this.#target
    const cwd = join(event === 'Snapshot' ? snapDir! : crawlDir, hook.plugin)
    const base = join(this.#folder, 'logs', hook.name)
    mkdirSync(cwd, { recursive: true })
    const places = { cwd, logs: { stdout: `${base}.stdout`, stderr: `${base}.stderr` } }
    try {
      const running = await tryHook(hook, this.#settings, this.#target, places)
      if (hook.background) await this.#untilReady(running)
      else await this.#toItsEnd(running)
    } catch (error) {
      this.#report(hook, { code: 126, signal: null, error: `it cannot be started: ${messageOf(error)}` }, '')
    }
  }

  /** Ends the background hooks, as at the end of a page. */
  async end(): Promise<void> {
    const budget = { capMs: Number.POSITIVE_INFINITY, over: this.#force.signal }
    const log = new Log('plugin', terminalSink('warn'))
    for await (const { running, exit, killed } of terminateHooks(this.#background, budget, log))
      this.#show(running, afterAsking(exit, killed))
  }

  close(): void {
    for (const signal of SIGNALS) process.off(signal, this.#onSignal)
  }

  async #untilReady(running: RunningHook): Promise<void> {
    const limit = running.startedAt + running.hook.timeoutMs
    let isOver = false
    void running.exited.then(() => (isOver = true))
    const isReady = () => isOver || this.interrupted || statSync(running.logs.stdout).size > 0
    while (!isReady() && performance.now() < limit) await sleep(READY_POLL_MS)
    this.#background.push(running)
    if (!isOver) terminal.say(onStderr.dim(`${running.hook.name} continues in the background`))
  }

  async #toItsEnd(running: RunningHook): Promise<void> {
    const exit = await exitWithin(running, running.hook.timeoutMs, this.#force.signal)
    if (exit) await killLeftovers(running.family) // Processes that it left behind.
    if (exit) return this.#show(running, exit)
    const ended = await endForeground(running, this.#force.signal)
    const late = { error: `killed after its timeout of ${running.hook.timeoutMs / 1000} s`, code: LATE }
    this.#show(running, this.interrupted ? ended : { ...ended, ...late })
  }

  #show(running: RunningHook, exit: Exit): void {
    const seconds = ((performance.now() - running.startedAt) / 1000).toFixed(1)
    this.#report(running.hook, exit, ` after ${seconds} s`)
    for (const line of linesOf(running.logs.stderr)) terminal.say(`  ${harmless(line)}`)
    for (const line of linesOf(running.logs.stdout)) {
      if (isRecord(line)) printJson(line)
      else terminal.say(`  ${harmless(line)}`)
    }
  }

  #report(hook: Hook, exit: Exit, after: string): void {
    const code = exit.code ?? SIGNALLED + (exit.signal ? constants.signals[exit.signal] : 0)
    this.#codes.push([hook.plugin, code])
    const words = describeExit(exit)
    terminal.say(`${onStderr.bold(hook.name)} ${code === 0 ? words : onStderr.red(words)}${after}`)
  }
}

/** How a background hook ended after we asked it to. */
function afterAsking(exit: Exit, killed: boolean): Exit {
  if (killed) return { ...exit, error: 'killed: it did not end when it was asked to' }
  if (exit.error || exit.code === 0 || !endedAsAsked(exit)) return exit
  return { code: 0, signal: null, error: 'ended when it was asked to' }
}

/** `<NAME>_BINARY` for the programs that hooks require; those that are not here are reported. */
async function programsFor(hooks: readonly Hook[], texts: HookSettings): Promise<HookSettings> {
  const { moduleOf } = askingOnce(texts)
  const paths: Record<string, string> = {}
  const found: string[] = []
  for (const wanted of wantedBy(hooks, texts)) {
    const place = searchFiles(wanted, texts) ?? (await moduleOf?.(wanted).catch(() => undefined))
    if (!place) terminal.say(`${onStderr.yellow('warning:')} ${notFound(wanted)}`)
    else found.push(place.abspath)
    if (place && wanted.binary.setting) put(paths, wanted.binary.setting, place.abspath)
  }
  return { ...paths, ...searchPaths(found, texts) }
}

async function sayFiles(folder: string): Promise<void> {
  for (const place of ['crawl', 'snapshot']) {
    const root = join(folder, place)
    if (!existsSync(root)) continue
    for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name)
      if (entry.isFile())
        terminal.say(`${onStderr.dim('made')} ${harmless(relative(root, path))} (${statSync(path).size} bytes)`)
    }
  }
}

function linesOf(file: string): string[] {
  return readFileSync(file, 'utf8').split('\n').filter(Boolean)
}

function isRecord(line: string): boolean {
  try {
    return line.startsWith('{') && typeof JSON.parse(line) === 'object'
  } catch {
    return false
  }
}
