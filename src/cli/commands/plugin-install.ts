import { AppError, EXIT, messageOf } from '../../base/errors.ts'
import { type HookSettings, selectHooks } from '../../hooks/discover.ts'
import { install, installationOf } from '../../hooks/upstream/install.ts'
import { isOlder, notFound, tooOld } from '../../hooks/upstream/look-up.ts'
import { searchFiles, type Wanted, wantedBy } from '../../hooks/upstream/search.ts'
import { searchByAsking } from '../../hooks/upstream/search-by-asking.ts'
import type { Asked } from '../settings.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'
import { here, named } from './plugin.ts'

/** One requirement of a plugin, as `plugin install` leaves it. */
interface InstallRecord {
  readonly type: 'Binary'
  readonly name: string
  readonly plugin: string
  readonly status: 'there' | 'installed' | 'missing'
  readonly abspath: string
  /** Why it is missing, and what to do. */
  readonly message: string
}

/**
 * `plugin install [NAME...]`: installs the Node and Python modules that plugins lack, all enabled ones by default, and
 * names the command for what only the system can install. Exit code 1 when something could not be installed.
 */
export async function pluginInstall(asked: Asked, names: readonly string[]): Promise<number> {
  const { plugins, texts } = here(asked)
  named(plugins, names)
  const hooks = (['CrawlSetup', 'Snapshot'] as const).flatMap((event) =>
    selectHooks(plugins, event, texts, names.length > 0 ? names : undefined),
  )
  let [isComplete, isFailed] = [true, false]
  for (const all of Map.groupBy(wantedBy(hooks, texts), ({ name }) => name).values()) {
    const { record, failed } = await provide(all[0]!, texts)
    isFailed ||= failed
    isComplete &&= record.status === 'there'
    if (wantsJson(asked)) printRecord(record)
    if (record.status === 'installed') terminal.say(`installed: ${record.name} (for ${record.plugin})`)
    if (record.status === 'missing') terminal.say(`missing:   ${record.message}`)
  }
  if (isComplete) terminal.say('nothing is missing')
  return isFailed ? EXIT.failed : EXIT.ok
}

/** @returns `failed`: it could have been installed, and was not */
async function provide(
  wanted: Wanted,
  settings: HookSettings,
): Promise<{ readonly record: InstallRecord; readonly failed: boolean }> {
  const { name, plugin } = wanted
  const about = { type: 'Binary', name, plugin } as const
  const ended = (status: InstallRecord['status'], abspath: string, message: string, failed = false) => ({
    record: { ...about, status, abspath, message },
    failed,
  })
  const there = await find(wanted, settings)
  if (there?.suffices) return ended('there', there.abspath, '')
  try {
    const installation = installationOf(wanted, settings)
    if (installation === undefined) return ended('missing', '', lack(wanted, there))
    terminal.say(`installing ${name} into ${installation.folder}`)
    await install(installation, settings)
    const found = await find(wanted, settings)
    if (!found?.suffices) throw new AppError(`${name} was installed, and still ${lack(wanted, found)}`)
    return ended('installed', found.abspath, '')
  } catch (error) {
    return ended('missing', '', `${name}: ${messageOf(error)}`, true)
  }
}

interface There {
  readonly abspath: string
  readonly version: string | undefined
  readonly suffices: boolean
}

async function find(wanted: Wanted, settings: HookSettings): Promise<There | undefined> {
  const env = { PATH: settings['PATH'] ?? '', HOME: settings['HOME'] ?? '/', LC_ALL: 'C' }
  const found = searchFiles(wanted, settings) ?? (await searchByAsking(wanted, settings, { env }))
  return found && { version: undefined, ...found, suffices: !isOlder(found.version ?? '', wanted.binary.minVersion) }
}

const lack = (wanted: Wanted, there: There | undefined) =>
  there ? tooOld(wanted.name, there.version ?? '', wanted.binary.minVersion) : notFound(wanted)
