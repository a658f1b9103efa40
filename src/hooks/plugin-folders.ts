import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf, messageOf } from '../base/errors.ts'

/** A folder of a plugin tree, as it is on disk. */
export interface PluginFolder {
  readonly name: string
  readonly files: readonly string[]
  /** Its config.json; empty when there is none, or it cannot be read. */
  readonly config: Readonly<Record<string, unknown>>
  /** Why its config.json counts as empty, although it is there. */
  readonly broken?: string
}

/**
 * The folders of a plugin tree.
 * @param isOurs the build has stored them in one file beside the tree (`<tree>.json`): reading some thirty folders and
 * as many files would be a tenth of the time of an `add`
 */
export function pluginFolders(tree: string, isOurs: boolean): readonly PluginFolder[] {
  const kept = isOurs ? jsonIn(`${tree}.json`) : undefined
  if (Array.isArray(kept)) return kept as readonly PluginFolder[]
  return (entriesOf(tree) ?? []).flatMap((name) => {
    const files = /^[._]/.test(name) || name === 'base' ? undefined : entriesOf(join(tree, name))
    return files ? [{ name, files, ...configIn(join(tree, name, 'config.json')) }] : []
  })
}

/** The entries of a folder; undefined when there is none: a missing tree, a stray file, a dangling link. */
function entriesOf(folder: string): string[] | undefined {
  try {
    return readdirSync(folder)
  } catch {
    return undefined
  }
}

function configIn(file: string): Pick<PluginFolder, 'config' | 'broken'> {
  try {
    const config: unknown = JSON.parse(readFileSync(file, 'utf8'))
    const isObject = typeof config === 'object' && config !== null && !Array.isArray(config)
    return isObject ? { config: { ...config } } : { config: {}, broken: 'config.json is not a JSON object' }
  } catch (error) {
    if (error instanceof SyntaxError) return { config: {}, broken: `config.json is not JSON: ${messageOf(error)}` }
    return codeOf(error) === 'ENOENT' ? { config: {} } : { config: {}, broken: `config.json: ${messageOf(error)}` }
  }
}

function jsonIn(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as unknown
  } catch {
    return undefined
  }
}
