import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Texts } from '../../base/config.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { findProgram, isExecutable } from '../../base/find-program.ts'
import { libDir, nodeModulesDir, pythonFor } from './plugin-tree.ts'
import { rulesFor } from './required-binaries.ts'
import { NODE_MODULES, PYTHON_MODULES, providersOf, type Wanted } from './search.ts'

/** Commands that install one requirement, in order. */
export interface Installation {
  readonly commands: readonly (readonly string[])[]
  /** The folder that must exist. */
  readonly folder: string
}

/**
 * How to install a requirement: a Node module with npm into NODE_MODULES_DIR, a Python module with pip into a virtual
 * environment where its plugin expects it. Undefined when none of its providers is of these kinds. Throws AppError when
 * the necessary program is missing.
 */
export function installationOf({ binary, name, tree }: Wanted, settings: Texts): Installation | undefined {
  const provider = providersOf(binary.binproviders).find((one) => NODE_MODULES.has(one) || PYTHON_MODULES.has(one))
  if (provider === undefined) return undefined
  const { installArgs, installRoot, runsScripts } = rulesFor(binary, provider, settings)
  const packages = installArgs.length > 0 ? installArgs : [name]
  if (NODE_MODULES.has(provider)) {
    const folder = dirname(nodeModulesDir(settings))
    if (basename(nodeModulesDir(settings)) !== 'node_modules')
      throw new AppError(
        `npm cannot install into ${nodeModulesDir(settings)}: NODE_MODULES_DIR must end in /node_modules`,
      )
    const quiet = [
      '--no-audit',
      '--no-fund',
      '--no-update-notifier',
      '--loglevel=error',
      ...(runsScripts ? [] : ['--ignore-scripts']),
    ]
    return { folder, commands: [[programOf('npm', settings), 'install', '--prefix', folder, ...quiet, ...packages]] }
  }
  const python = pythonFor(tree, settings)
  if (python === undefined) throw new AppError('python3 not found: apt-get install python3 python3-venv')
  const folder = installRoot ?? join(libDir(settings), provider, 'packages', name)
  const environment = join(folder, 'venv')
  const own = join(environment, 'bin', 'python3')
  const pip = [own, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
  // Debian's pip lacks some features that packages require.
  const make = isExecutable(own)
    ? []
    : [
        [python, '-m', 'venv', environment],
        [...pip, '--upgrade', 'pip'],
      ]
  return { folder, commands: [...make, [...pip, ...packages]] }
}

/** The path of an installer. Throws AppError when there is none. */
export function programOf(name: string, settings: Texts): string {
  const found = findProgram(name, settings['PATH'])
  if (found === undefined) throw new AppError(`${name} not found: install it, and make sure that PATH leads to it`)
  return found
}

/** Runs the commands; their output goes to our stderr. Throws AppError when one fails. */
export async function install({ folder, commands }: Installation, settings: Texts): Promise<void> {
  mkdirSync(folder, { recursive: true })
  // Their own browsers are large, and ours will do.
  const env = { ...settings, PUPPETEER_SKIP_DOWNLOAD: '1', PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1' }
  for (const [file, ...args] of commands) {
    const child = spawn(file!, args, { cwd: folder, env, stdio: ['ignore', 2, 2] })
    const [code] = (await once(child, 'exit').catch((error: unknown) => {
      throw new AppError(`${file} cannot be started: ${messageOf(error)}`)
    })) as [number | null]
    if (code !== 0) throw new AppError(`${[file, ...args].join(' ')} failed`)
  }
}
