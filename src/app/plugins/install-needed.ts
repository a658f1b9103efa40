import { AppError, messageOf } from '../../base/errors.ts'
import { type HookSettings, type Plugin, selectHooks } from '../../hooks/discover.ts'
import { install, installationOf } from '../../hooks/upstream/install.ts'
import { isOlder, notFound, tooOld } from '../../hooks/upstream/look-up.ts'
import { searchFiles, type Wanted, wantedBy } from '../../hooks/upstream/search.ts'
import { searchByAsking } from '../../hooks/upstream/search-by-asking.ts'
import type { Call } from '../call.ts'

/** One requirement of plugins, after the installation. */
export interface Provided {
  readonly record: {
    readonly type: 'Binary'
    readonly name: string
    readonly plugin: string
    readonly status: 'there' | 'installed' | 'missing'
    readonly abspath: string
    /** Why it is missing, and what to do. */
    readonly message: string
  }
  /** Its installation was tried and failed. */
  readonly failed: boolean
}

export interface Installing {
  readonly event: 'installing'
  readonly name: string
  readonly folder: string
}

/** Installs the Node and Python modules that plugins lack, in turn. @param names of plugins; none: all enabled ones */
export async function* installNeeded(
  plugins: readonly Plugin[],
  settings: HookSettings,
  names: readonly string[],
  call: Pick<Call<Installing>, 'tell'>,
): AsyncGenerator<Provided, void, void> {
  const hooks = (['CrawlSetup', 'Snapshot'] as const).flatMap((event) =>
    selectHooks(plugins, event, settings, names.length > 0 ? names : undefined),
  )
  for (const all of Map.groupBy(wantedBy(hooks, settings), ({ name }) => name).values())
    yield await provide(all[0]!, settings, call)
}

async function provide(
  wanted: Wanted,
  settings: HookSettings,
  { tell }: Pick<Call<Installing>, 'tell'>,
): Promise<Provided> {
  const { name, plugin } = wanted
  const about = { type: 'Binary', name, plugin } as const
  const ended = (status: Provided['record']['status'], abspath: string, message: string, failed = false) => ({
    record: { ...about, status, abspath, message },
    failed,
  })
  const there = await find(wanted, settings)
  if (there?.suffices) return ended('there', there.abspath, '')
  try {
    const installation = installationOf(wanted, settings)
    if (installation === undefined) return ended('missing', '', lack(wanted, there))
    tell?.({ event: 'installing', name, folder: installation.folder })
    await install(installation, settings)
    const found = await find(wanted, settings)
    if (!found?.suffices) throw new AppError(`${name} was installed, but still ${lack(wanted, found)}`)
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
