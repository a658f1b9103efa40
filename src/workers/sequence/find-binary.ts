import { isExecutable } from '../../base/find-program.ts'
import { isTrusted } from '../../base/trusted-settings.ts'
import type { BinaryRow } from '../../db/binaries.ts'
import type { Context } from '../../engine/handlers.ts'
import type { HookSettings } from '../../hooks/discover.ts'
import type { AskedAs } from '../../hooks/upstream/ask-program.ts'
import { askVersion, firstUsable, isOlder, notFound, sha256Of, tooOld } from '../../hooks/upstream/look-up.ts'
import { isSearchable, providersOf, searchFiles, type Wanted } from '../../hooks/upstream/search.ts'
import { searchByAsking } from '../../hooks/upstream/search-by-asking.ts'
import { isFoundHere, requestNote } from './noted-binaries.ts'
import type { Provide } from './providers.ts'

/** The path of a program; its version if that is known without running it. */
type WhereFound = NonNullable<ReturnType<typeof searchFiles>>
export type Found = Pick<BinaryRow, 'abspath' | 'version' | 'sha256' | 'message'>

/**
 * Looks a program up, and lets a plugin provide it when it is missing or outdated.
 * @param required the requirements of this name; none when a hook asked for it
 * @returns its path; or none, and why
 */
export async function findBinary(
  dataDir: string,
  row: BinaryRow,
  required: readonly Wanted[],
  settings: HookSettings,
  provide: Provide,
  tick: Context,
  as: AskedAs,
): Promise<Found> {
  const { name, min_version } = row
  const isAsked = isTrusted(dataDir, ...requestNote({ ...row, minVersion: min_version }))
  const allowed = new Set(required.flatMap(({ binary }) => binary.binproviders.split(',')))
  // Its row names the providers that may install it, but the row may be untrusted.
  const binproviders = required.length === 0 ? row.binproviders : [...allowed].join()
  const missing = (message: string): Found => ({ abspath: '', version: '', sha256: '', message })
  if (name === '' || binproviders === '') return missing('no provider is allowed')
  if (required.length === 0 && !isAsked) return missing('no plugin here has asked for it')
  const asked = { setting: undefined, name, binproviders, minVersion: min_version, rules: {} }
  const wanted = required.length > 0 ? required : [{ binary: asked, name, plugin: '', tree: '' }]
  const minimums = wanted.map(({ binary }) => binary.minVersion).sort((a, b) => (isOlder(a || '0', b || '0') ? -1 : 1))
  const look = async ({ abspath, version }: WhereFound) =>
    version !== undefined || !isExecutable(abspath) ? { version: version ?? '' } : await askVersion(abspath, as)
  const hint = isFoundHere(dataDir, row) ? row.abspath : ''
  const found = await firstUsable((unusable) => search(wanted, hint, settings, as, unusable), look)
  const suffices = found && found.whyNot === undefined && !isOlder(found.version, minimums.at(-1)!)
  const provided = suffices ? undefined : await provide.ask({ ...row, binproviders }, tick)
  const best = provided === undefined ? found : { abspath: provided, ...(await look({ abspath: provided })) }
  if (!best) {
    const isCertain = wanted.every(({ binary }) =>
      providersOf(binary.binproviders).every((one) => isSearchable(one) || provide.serves(one)),
    )
    return missing(isCertain ? notFound(wanted[0]!) : '')
  }
  const { abspath, version, whyNot } = best
  if (whyNot !== undefined) return missing(whyNot)
  if (isOlder(version, minimums[0]!)) return missing(tooOld(name, version, minimums[0]!))
  return { abspath, version, sha256: await sha256Of(abspath), message: '' }
}

/** Where a requirement is: at a place of its providers, where a hook reported it, or where its providers find it. */
async function search(
  wanted: readonly Wanted[],
  hint: string,
  settings: HookSettings,
  as: AskedAs,
  unusable: ReadonlySet<string>,
): Promise<WhereFound | undefined> {
  for (const one of wanted) {
    const found = searchFiles(one, settings, unusable)
    if (found) return found
  }
  if (isExecutable(hint) && !unusable.has(hint)) return { abspath: hint }
  for (const one of wanted) {
    const found = await searchByAsking(one, settings, as)
    if (found) return found
  }
  return undefined
}
