import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import type { Texts } from '../../base/config.ts'
import { findProgram, isExecutable } from '../../base/find-program.ts'
import { textIn } from '../../base/if-readable.ts'
import { extensionsDir, importRoot, joinedPaths, libDir, nodeModulesDir, pythonFor } from './plugin-tree.ts'
import { needed, type RequiredBinary, rulesFor } from './required-binaries.ts'

/** What was found: a program, a Node or Python module, or a browser extension. */
export interface Found {
  readonly abspath: string
  /** Where it is not known by running the program. */
  readonly version?: string | undefined
}

/** A requirement of a plugin in this tree. */
export interface Wanted {
  readonly binary: RequiredBinary
  /** Its name, according to the settings. */
  readonly name: string
  readonly plugin: string
  readonly tree: string
}

/** Providers of Node modules. */
export const NODE_MODULES: ReadonlySet<string> = new Set(['npm', 'pnpm', 'yarn', 'bun'])
/** Providers of Python modules. */
export const PYTHON_MODULES: ReadonlySet<string> = new Set(['uv', 'pip'])
/** They install programs into the PATH, or into `bin` of their folder in ABXPKG_LIB_DIR. */
const PROGRAMS = new Set(
  ['env', 'apt', 'brew', 'node', 'bash', 'cargo', 'gem', 'goget', 'nix', 'deno', 'puppeteer', 'playwright'].concat(
    [...NODE_MODULES],
    [...PYTHON_MODULES],
  ),
)
const EXTENSIONS = 'chromewebstore'

/** The requirements of a hook. */
interface Requiring extends Pick<Wanted, 'plugin' | 'tree'> {
  readonly binaries: readonly RequiredBinary[]
}

/** What the plugins of hooks require. */
export function wantedBy(hooks: readonly Requiring[], settings: Texts): Wanted[] {
  const plugins = new Map(hooks.map((hook) => [hook.plugin, hook]))
  return [...plugins.values()].flatMap(({ plugin, tree, binaries }) =>
    binaries.map((binary) => ({ binary, name: needed(binary, settings).name, plugin, tree })),
  )
}

/** The providers of a requirement, by name; `*`: any. */
export function providersOf(binproviders: string): string[] {
  return binproviders
    .split(',')
    .map((provider) => provider.trim())
    .filter(Boolean)
}

/** Whether we can tell what this provider has. */
export function isSearchable(provider: string): boolean {
  return provider === '*' || provider === EXTENSIONS || PROGRAMS.has(provider)
}

/**
 * Looks for a requirement in every place where one of its providers puts it, in their order, without running anything.
 * A path that the user gives counts whatever the providers are.
 * @param unusable paths that do not count
 */
export function searchFiles(
  { binary, name, tree }: Wanted,
  settings: Texts,
  unusable: ReadonlySet<string> = new Set(),
): Found | undefined {
  if (isAbsolute(name)) return isExecutable(name) && !unusable.has(name) ? { abspath: name } : undefined
  for (const provider of providersOf(binary.binproviders)) {
    const found = searchProvider(binary, provider, name, settings, unusable)
    if (found) return found
  }
  return moduleIn({ binary, name, tree }, settings)
}

/** A Python module in one of the folders that are known without asking. */
function moduleIn(wanted: Omit<Wanted, 'plugin'>, settings: Texts): Found | undefined {
  if (!mayBeModule(wanted)) return undefined
  const python = pythonFor(wanted.tree, settings)
  const own = python ? sitePackages(dirname(dirname(python))) : []
  for (const folder of [...moduleFolders(wanted, settings), ...own]) {
    const files = [join(folder, wanted.name, '__init__.py'), join(folder, `${wanted.name}.py`)]
    const abspath = files.find((file) => existsSync(file))
    if (abspath) return { abspath, version: distributedVersion(folder, wanted.name) }
  }
  return undefined
}

/** The folders where a Python module may be, besides the interpreter's own. */
export function moduleFolders({ binary, name, tree }: Omit<Wanted, 'plugin'>, settings: Texts): string[] {
  const provider = moduleProvider(binary, name) ?? ''
  const { installRoot } = rulesFor(binary, provider, settings)
  const roots = [installRoot, join(libDir(settings), provider, 'packages', name)].filter((root) => root !== undefined)
  const given = (settings['PYTHONPATH'] ?? '').split(delimiter).filter(Boolean)
  return [importRoot(tree) ?? [], given, roots.flatMap((root) => sitePackages(join(root, 'venv')))].flat()
}

/** The version in the name of a module's `.dist-info`. */
function distributedVersion(folder: string, name: string): string | undefined {
  const info = new RegExp(`^${name.replaceAll('_', '[-_.]')}-(\\d[^-]*)\\.dist-info$`, 'i')
  return readdirSync(folder).flatMap((entry) => info.exec(entry)?.[1] ?? [])[0]
}

function searchProvider(
  binary: RequiredBinary,
  provider: string,
  name: string,
  settings: Texts,
  unusable: ReadonlySet<string>,
): Found | undefined {
  const { installRoot, abspath, version } = rulesFor(binary, provider, settings)
  if (abspath !== undefined && existsSync(abspath) && !unusable.has(abspath)) return { abspath, version }
  const lib = join(libDir(settings), provider)
  if (provider === EXTENSIONS) {
    const file = join(extensionsDir(settings), `${name}.extension.json`)
    return existsSync(file) ? { abspath: file, version: versionIn(file) } : undefined
  }
  const roots = [installRoot, join(lib, 'packages', name), lib].filter((root) => root !== undefined)
  const folders = [
    ...roots.map((root) => join(root, 'bin')),
    ...(PYTHON_MODULES.has(provider) ? roots.map((root) => join(root, 'venv', 'bin')) : []),
  ]
  const modules = NODE_MODULES.has(provider)
    ? [
        ...roots.map((root) => join(root, 'node_modules')),
        nodeModulesDir(settings),
        ...(settings['NODE_PATH'] ?? '').split(delimiter).filter(Boolean),
      ]
    : []
  const places = [...folders, ...modules.map((folder) => join(folder, '.bin')), settings['PATH'] ?? '']
  const program = findProgram(name, places.join(delimiter), unusable)
  if (program) return { abspath: program, version }
  const manifest = modules.map((folder) => join(folder, name, 'package.json')).find((file) => existsSync(file))
  return manifest ? { abspath: manifest, version: version ?? versionIn(manifest) } : undefined
}

/** Whether this may be a Python module. One that a setting names is a program. */
export function mayBeModule({ binary, name }: Pick<Wanted, 'binary' | 'name'>): boolean {
  return binary.setting === undefined && moduleProvider(binary, name) !== undefined
}

function moduleProvider({ binproviders }: RequiredBinary, name: string): string | undefined {
  return /^\w+$/.test(name) ? providersOf(binproviders).find((one) => PYTHON_MODULES.has(one)) : undefined
}

/** Where a virtual environment keeps its modules. */
function sitePackages(environment: string): string[] {
  const python = /^version(?:_info)? *= *(\d+\.\d+)/m.exec(textIn(join(environment, 'pyvenv.cfg')))?.[1]
  return python ? [join(environment, 'lib', `python${python}`, 'site-packages')] : []
}

/** The `version` in a JSON file. */
function versionIn(file: string): string | undefined {
  try {
    const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version?: unknown }
    return typeof version === 'string' ? version : undefined
  } catch {
    return undefined
  }
}

/** NODE_PATH and PYTHONPATH for finding the modules among these paths. */
export function searchPaths(abspaths: readonly string[], settings: Texts): Texts {
  const within = (folder: string) => (path: string) => {
    const end = path.indexOf(`/${folder}/`)
    return end === -1 ? [] : [path.slice(0, end + folder.length + 1)]
  }
  // Only what was installed for plugins: an interpreter's own modules are for that one alone.
  const installed = abspaths.filter((path) => path.startsWith(`${libDir(settings)}/`))
  return {
    NODE_PATH: joinedPaths(settings['NODE_PATH'], ...abspaths.flatMap(within('node_modules'))),
    PYTHONPATH: joinedPaths(settings['PYTHONPATH'], ...installed.flatMap(within('site-packages'))),
  }
}
