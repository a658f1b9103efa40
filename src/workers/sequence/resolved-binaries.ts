import { put } from '../../base/own.ts'
import { binariesOf } from '../../db/binaries.ts'
import type { Home } from '../../db/home.ts'
import type { Hook, HookSettings } from '../../hooks/discover.ts'
import { isOlder, tooOld } from '../../hooks/upstream/look-up.ts'
import { searchPaths, wantedBy } from '../../hooks/upstream/search.ts'
import { isFoundHere } from './noted-binaries.ts'

/** The programs that the hooks of one target may use. */
export interface ResolvedBinaries {
  /** `<NAME>_BINARY`: the path of each program; and the search paths of modules for Node and Python. */
  readonly settings: HookSettings
  /** Plugins that cannot run, with the reason. */
  readonly missing: ReadonlyMap<string, string>
}

export async function resolvedBinaries(
  { db, machineId, dataDir }: Home,
  hooks: readonly Hook[],
  settings: HookSettings,
): Promise<ResolvedBinaries> {
  const missing = new Map<string, string>()
  const paths: Record<string, string> = {}
  const wanted = wantedBy(hooks, settings)
  const rows = wanted.length === 0 ? [] : await binariesOf(db, machineId)
  const installed: string[] = []
  for (const { plugin, binary, name } of wanted) {
    const row = rows.find((one) => one.name === name)
    if (missing.has(plugin)) continue
    if (row?.status === 'queued' && row.message !== '' && !binary.neededBy) missing.set(plugin, row.message)
    if (row?.status !== 'installed' || !isFoundHere(dataDir, row)) continue
    if (isOlder(row.version, binary.minVersion)) missing.set(plugin, tooOld(name, row.version, binary.minVersion))
    if (binary.setting) put(paths, binary.setting, row.abspath)
    installed.push(row.abspath)
  }
  return { settings: { ...paths, ...searchPaths(installed, settings) }, missing }
}
