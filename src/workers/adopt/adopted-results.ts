import type { OutputFile } from '../../db/tables.ts'
import { pluginOf } from '../../importers/archivebox/folders.ts'
import type { SourceSnapshot } from '../../importers/archivebox/snapshot.ts'
import type { AdoptedResult } from '../../machines/adopt.ts'

const FINAL: ReadonlySet<string> = new Set(['succeeded', 'failed', 'skipped', 'noresults'])

/**
 * The results of a page that ArchiveBox archived. The files of a plugin belong to its last success; those of a plugin
 * that has none get a result of their own.
 */
export function adoptedResults(
  { results, bookmarkedAt }: SourceSnapshot,
  files: ReadonlyMap<string, Readonly<Record<string, OutputFile>>>,
): AdoptedResult[] {
  const attempts = new Map<string, number>()
  const owners = new Map<string, number>()
  const adopted = results.map((result, index): AdoptedResult => {
    const plugin = pluginOf(result.plugin)
    const hook_name = result.hook || `archivebox_${plugin}`
    const attempt = (attempts.get(`${plugin} ${hook_name}`) ?? 0) + 1
    attempts.set(`${plugin} ${hook_name}`, attempt)
    const isFinal = FINAL.has(result.status)
    if (result.status === 'succeeded') owners.set(plugin, index)
    const start = result.start ?? result.end ?? bookmarkedAt
    return {
      plugin,
      hook_name,
      attempt,
      status: isFinal ? (result.status as AdoptedResult['status']) : 'skipped',
      output_str: isFinal ? result.output.replaceAll('\0', '') : 'not finished by ArchiveBox',
      files: {},
      start,
      end: result.end ?? start,
    }
  })
  const theirs = [...files].map(([plugin, own]): [number, AdoptedResult] => {
    const index = owners.get(plugin)
    if (index !== undefined) return [index, { ...adopted[index]!, files: own }]
    const start = bookmarkedAt
    const hook_name = `archivebox_${plugin}_files`
    return [-1, { plugin, hook_name, attempt: 1, status: 'succeeded', output_str: '', files: own, start, end: start }]
  })
  const withFiles = new Map(theirs.filter(([index]) => index >= 0))
  const more = theirs.filter(([index]) => index < 0).map(([, result]) => result)
  return [...adopted.map((result, index) => withFiles.get(index) ?? result), ...more]
}
