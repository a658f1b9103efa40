import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { crawlPersona } from '../../app/add/crawl-persona.ts'
import { crawlSettings } from '../../app/add/new-crawl.ts'
import { askingOnce, enabledSetting } from '../../app/plugins/plugin-record.ts'
import { harmless } from '../../base/clean.ts'
import { EXIT } from '../../base/errors.ts'
import { uuidv7 } from '../../base/ids.ts'
import { Log } from '../../base/log.ts'
import { put } from '../../base/own.ts'
import { type Hook, type HookSettings, selectHooks } from '../../hooks/discover.ts'
import { hookSettings } from '../../hooks/environment.ts'
import { describeExit } from '../../hooks/terminate.ts'
import { type Tried, tryHooks } from '../../hooks/try-hooks.ts'
import { notFound } from '../../hooks/upstream/look-up.ts'
import { searchFiles, searchPaths, wantedBy } from '../../hooks/upstream/search.ts'
import { refusing, settingPairs } from '../crawl-options.ts'
import { sayMeanwhile } from '../meanwhile.ts'
import { pageUrl } from '../page-url.ts'
import { onStderr } from '../screen/palette.ts'
import type { Asked } from '../settings.ts'
import { printJson, terminal, terminalSink } from '../terminal.ts'
import { here, named } from './plugin.ts'

/** The exit codes of a shell for signals begin here. */
const SIGNALLED = 128
/** The last one comes when the terminal is closed. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

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
  const programs = await programsFor(
    hooks.map(({ hook }) => hook),
    texts,
  )
  const force = new AbortController()
  const onSignal = () => force.abort()
  for (const signal of SIGNALS) process.on(signal, onSignal)
  const codes: number[] = []
  try {
    const [crawlDir, snapDir, logs] = ['crawl', 'snapshot', 'logs'].map((place) => join(folder, place))
    const about = { dataDir, crawlId: uuidv7(), crawlDir: crawlDir!, snapshotId: uuidv7(), snapDir: snapDir!, depth: 0 }
    const trial = { settings: { ...texts, ...programs }, target: { ...about, url: url! }, logs: logs! }
    const log = new Log('plugin', terminalSink('warn'))
    for await (const tried of tryHooks(hooks, { ...trial, force: force.signal, log })) {
      const code = show(tried)
      if (tried.hook.plugin === name && code !== 0) codes.push(code)
    }
    await sayFiles(folder)
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal)
    if (verb.keep) terminal.say(`kept in ${folder}`)
    else rmSync(folder, { recursive: true, force: true })
  }
  return force.signal.aborted ? EXIT.interrupted : (codes.at(-1) ?? 0)
}

/** Reports how a hook ended, and its output. @returns its exit code, 0 for one that continues */
function show({ hook, running, exit }: Tried): number {
  if (!exit) {
    terminal.say(onStderr.dim(`${hook.name} continues in the background`))
    return 0
  }
  const code = exit.code ?? SIGNALLED + (exit.signal ? constants.signals[exit.signal] : 0)
  const words = describeExit(exit)
  const after = running ? ` after ${((performance.now() - running.startedAt) / 1000).toFixed(1)} s` : ''
  terminal.say(`${onStderr.bold(hook.name)} ${code === 0 ? words : onStderr.red(words)}${after}`)
  for (const line of running ? linesOf(running.logs.stderr) : []) terminal.say(`  ${harmless(line)}`)
  for (const line of running ? linesOf(running.logs.stdout) : []) {
    if (isRecord(line)) printJson(line)
    else terminal.say(`  ${harmless(line)}`)
  }
  return code
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
