import { mkdirSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Script } from 'node:vm'
import { replaceFile } from '../replace-file.ts'
import { compileLess, compileLessSoon } from './compile-less.ts'

/**
 * When a long-lived process has run everything that a start needs, and V8 has not yet dropped code that ran only once:
 * after 10 s in a busy worker half of it is gone.
 */
const STARTED_MS = 3_000

/** The progress of a start, for a process that knows it itself. */
interface Start {
  /** It has loaded what it needs of Node: anything later is compiled, since Node's kept code no longer fits. */
  readonly loaded: Promise<void>
  /** It has done its work once. */
  readonly ran: Promise<void>
}

/**
 * Loads a CommonJS module, without import() in it, with the byte code that V8 made of it in an earlier run for the same
 * `use`, kept in .compile-cache beside it, or in ARCHIVEBOX_COMPILE_CACHE. Node's own compile cache holds only what is
 * compiled before the file runs; this one has each function that such a run called: a fifth less work per start. V8
 * rejects the code of another V8, and anything else that does not fit, and then compiles.
 * @param file in the wrapper that Node puts around a module; in ASCII, which is read and kept at half the cost
 * @param edition tells apart files of the same path, size and time
 * @param start when V8 is to compile less, after the code has been kept; without it: by time
 * @returns what the file exports
 */
export function loadCompiled(file: string, use: string, edition: string, start?: Start): unknown {
  const { mtimeMs, size } = statSync(file)
  const kept = join(
    process.env['ARCHIVEBOX_COMPILE_CACHE'] ?? join(dirname(file), '.compile-cache'),
    `${use}-${edition}-${size}-${mtimeMs}-node-${process.versions.node}-${process.arch}`,
  )
  const cachedData = readIfThere(kept)
  const script = new Script(readFileSync(file, 'latin1'), {
    filename: file,
    ...(cachedData && { cachedData }),
  })
  const isKept = cachedData && !script.cachedDataRejected
  if (start) void (isKept ? start.loaded : start.ran.then(() => keep(kept, script))).then(() => compileLess(use))
  else if (!isKept) keepOnce(kept, script, use)
  else compileLessSoon(use)
  const module = { exports: {} }
  script.runInThisContext()(module.exports, createRequire(file), module, file, dirname(file))
  return module.exports
}

function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file)
  } catch {
    return undefined
  }
}

function keepOnce(file: string, script: Script, use: string): void {
  const now = () => {
    clearTimeout(later)
    process.off('exit', now)
    keep(file, script)
    compileLess(use)
  }
  const later = setTimeout(now, STARTED_MS).unref()
  process.once('exit', now)
}

/** Written completely and flushed before it gets its name: V8 trusts what it reads. */
function keep(file: string, script: Script): void {
  try {
    mkdirSync(dirname(file), { recursive: true })
    replaceFile(file, script.createCachedData(), { mode: 0o644, aside: `${file}.${process.pid}` })
  } catch {
    // Installed read-only: it starts all the same, only slower.
  }
}
