import { readdirSync } from 'node:fs'

/**
 * The plain files in the plugin directories of a snapshot, as paths relative to it, sorted by code unit. Not in it:
 * files beside those directories (indexes), top-level dot-directories (logs, attempts), the directory `except`,
 * symlinks and whatever else is no plain file.
 */
export function outputFiles(snapshotDir: string, except: string): string[] {
  const files: string[] = []
  const walk = (dir: string) => {
    for (const entry of readdirSync(`${snapshotDir}/${dir}`, { withFileTypes: true })) {
      const path = `${dir}/${entry.name}`
      if (entry.isDirectory()) walk(path)
      else if (entry.isFile()) files.push(path)
    }
  }
  for (const entry of readdirSync(snapshotDir, { withFileTypes: true })) {
    if (entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== except) walk(entry.name)
  }
  return files.sort((a, b) => (a < b ? -1 : 1))
}
