import { existsSync } from 'node:fs'
import { delimiter, isAbsolute } from 'node:path'
import type { Texts } from '../../base/config.ts'
import { AppError } from '../../base/errors.ts'
import { type AskedAs, askProgram } from './ask-program.ts'
import { libDir, pythonFor, realAbxpkg } from './plugin-tree.ts'
import { rulesFor } from './required-binaries.ts'
import { type Found, mayBeModule, moduleFolders, type Wanted } from './search.ts'

/** How long Python, or abxpkg, may take to answer. */
const ANSWER_MS = 15_000

/**
 * Asks programs that know more than files tell: Python for its modules, and the real abxpkg, if there is one. A program
 * that does not answer in time is killed, and nothing is known: throws.
 */
export async function searchByAsking(wanted: Wanted, settings: Texts, as: AskedAs): Promise<Found | undefined> {
  const ask: Ask = async (program, args, more = {}) => {
    const env = { ...as.env, ...more }
    const { stdout, hasSucceeded, isLate } = await askProgram(program, args, { withinMs: ANSWER_MS, ...as, env })
    if (isLate) throw new AppError(`${program} does not answer`)
    return hasSucceeded ? stdout : undefined
  }
  return (await searchPython(wanted, settings, ask)) ?? (await searchAbxpkg(wanted, settings, ask))
}

/** Asks a program: its output when it succeeds. */
type Ask = (program: string, args: readonly string[], env?: Record<string, string>) => Promise<string | undefined>

/** Prints the file and the version of a module. */
const FIND_MODULE = `
import importlib.metadata, importlib.util, sys
spec = importlib.util.find_spec(sys.argv[1])
if spec and spec.origin:
    try: version = importlib.metadata.version(sys.argv[1])
    except importlib.metadata.PackageNotFoundError: version = ''
    print(spec.origin, version, sep='\\t')`

async function searchPython(wanted: Wanted, settings: Texts, ask: Ask): Promise<Found | undefined> {
  const python = pythonFor(wanted.tree, settings)
  if (!mayBeModule(wanted) || python === undefined) return undefined
  const PYTHONPATH = moduleFolders(wanted, settings).join(delimiter)
  const answer = await ask(python, ['-c', FIND_MODULE, wanted.name], { PYTHONPATH })
  const [abspath, version] = (answer ?? '').trim().split('\t')
  return abspath && existsSync(abspath) ? { abspath, version: version || undefined } : undefined
}

async function searchAbxpkg({ binary, name }: Wanted, settings: Texts, ask: Ask): Promise<Found | undefined> {
  const abxpkg = realAbxpkg(settings)
  if (!abxpkg) return undefined
  const providers = binary.binproviders === '*' ? [] : [`--binproviders=${binary.binproviders}`]
  const roots = Object.keys(binary.rules).flatMap((provider) => {
    const { installRoot } = rulesFor(binary, provider, settings)
    return installRoot === undefined ? [] : [[provider, { install_root: installRoot }]]
  })
  const overrides = roots.length > 0 ? [`--overrides=${JSON.stringify(Object.fromEntries(roots))}`] : []
  const options = [`--lib=${libDir(settings)}`, ...providers, ...overrides]
  const answer = await ask(abxpkg, ['load', ...options, name])
  const words = (answer ?? '').split(/\s+/)
  const abspath = words.find((word) => isAbsolute(word) && existsSync(word))
  return abspath ? { abspath, version: words.find((word) => /^\d+(\.\d+)+/.test(word)) } : undefined
}
