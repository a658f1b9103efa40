import { earlierLogPaths, leftoversPath, logPaths } from '../base/attempt-paths.ts'
import { innerLinks, type TreeEntry } from '../base/inner-links.ts'
import type { ResultOfPage } from '../db/results.ts'

/** A result, as far as its files are concerned. */
export type ResultFiles = Pick<ResultOfPage, 'id' | 'plugin' | 'hook_name' | 'attempt' | 'status' | 'output_files'>

/** The paths of a result's files below the folder of its page. */
export function pathsOf({
  plugin,
  hook_name,
  attempt,
  output_files,
}: Pick<ResultFiles, 'plugin' | 'hook_name' | 'attempt' | 'output_files'>): string[] {
  return [
    ...Object.keys(output_files).map((file) => `${plugin}/${file}`),
    ...Object.values(logPaths(plugin, hook_name, attempt)),
    ...Object.values(earlierLogPaths(plugin, hook_name, attempt)),
    leftoversPath(plugin, hook_name, attempt),
  ]
}

/** The links in one plugin's results that are dangling without these results. */
export function brokenLinks(results: readonly ResultFiles[]): { readonly id: string; readonly paths: string[] }[] {
  const tree = new Map<string, TreeEntry>()
  for (const { output_files } of results) {
    for (const [path, { link }] of Object.entries(output_files)) {
      for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1)) tree.set(path.slice(0, at), 'folder')
      tree.set(path, link === undefined ? 'file' : { link })
    }
  }
  const whole = innerLinks(tree)
  const broken = ({ output_files }: ResultFiles) =>
    Object.entries(output_files).flatMap(([path, { link }]) => (link !== undefined && !whole.has(path) ? [path] : []))
  return results.map((result) => ({ id: result.id, paths: broken(result) })).filter(({ paths }) => paths.length > 0)
}
