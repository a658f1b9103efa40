import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, delimiter, dirname, join, resolve } from 'node:path'
import { readSetting, type Texts } from '../../base/config.ts'
import { findProgram, isExecutable } from '../../base/find-program.ts'
import { asset } from '../../base/package-root.ts'

/** Where shared requirements of plugins are installed; by default abx-dl's place, so that both find each other's. */
export function libDir(settings: Texts): string {
  const home = settings['HOME'] || homedir()
  const standard =
    process.platform === 'darwin'
      ? join(home, 'Library', 'Application Support')
      : settings['XDG_CONFIG_HOME'] || join(home, '.config')
  return resolve(readSetting('ABXPKG_LIB_DIR', settings) ?? join(standard, 'abx', 'lib'))
}

/** The folder of Node modules that plugins share. */
export function nodeModulesDir(settings: Texts): string {
  return resolve(readSetting('NODE_MODULES_DIR', settings) ?? join(libDir(settings), 'npm', 'node_modules'))
}

/** The folder of browser extensions. */
export function extensionsDir(settings: Texts): string {
  return (
    readSetting('CHROMEWEBSTORE_EXTENSIONS_DIR', settings) ?? join(libDir(settings), 'chromewebstore', 'extensions')
  )
}

/** Below ABXPKG_LIB_DIR: the virtual environment for the trees of Python plugins that have none of their own. */
export const OWN_ENVIRONMENT = 'pip'

/** The real abxpkg, if it is on PATH. */
export function realAbxpkg(settings: Texts): string | undefined {
  return findProgram('abxpkg', settings['PATH'])
}

/**
 * The folder from which Python imports a plugin tree's own modules: the one that holds the outermost package around it.
 * Undefined when the tree is in no package.
 */
export function importRoot(tree: string): string | undefined {
  let folder = resolve(tree, '..')
  if (!existsSync(join(folder, '__init__.py'))) return undefined
  while (existsSync(join(folder, '__init__.py'))) folder = dirname(folder)
  return folder
}

/**
 * The Python that has what a plugin tree's hooks import: the one of the virtual environment into which the tree was
 * installed, or that lies beside its sources; else the one of `plugin install`; else the one on PATH.
 */
export function pythonFor(tree: string, settings: Texts): string | undefined {
  const given = readSetting('PYTHON_BINARY', settings)
  if (given !== undefined) return findProgram(given, settings['PATH'])
  const root = importRoot(tree)
  const installed = root && basename(root) === 'site-packages' ? [resolve(root, '..', '..', '..')] : []
  const beside = root ? [join(root, '.venv'), join(root, '..', '.venv')] : []
  const places = [...installed, ...beside, join(libDir(settings), OWN_ENVIRONMENT, 'venv')].map((place) =>
    join(place, 'bin', 'python3'),
  )
  return places.find(isExecutable) ?? findProgram('python3', settings['PATH'])
}

/** The environment of a plugin tree's hooks, besides their settings. */
export function treeEnvironment(tree: string, settings: Texts): Record<string, string | undefined> {
  const modules = nodeModulesDir(settings)
  const standIn = realAbxpkg(settings) ? [] : [asset('bin', 'hooks/upstream/bin')]
  return {
    ABXPKG_LIB_DIR: libDir(settings),
    NODE_MODULES_DIR: modules,
    NODE_PATH: joinedPaths(modules, settings['NODE_PATH']),
    PYTHON_BINARY: pythonFor(tree, settings),
    PYTHONPATH: joinedPaths(importRoot(tree), settings['PYTHONPATH']),
    CHROMEWEBSTORE_EXTENSIONS_DIR: extensionsDir(settings),
    PATH: joinedPaths(...standIn, settings['PATH'], join(modules, '.bin')),
  }
}

/** The parts of a search path, without duplicates; undefined when there is none. */
export function joinedPaths(...parts: readonly (string | undefined)[]): string | undefined {
  const places = parts.flatMap((part) => part?.split(delimiter) ?? []).filter(Boolean)
  return places.length === 0 ? undefined : [...new Set(places)].join(delimiter)
}
