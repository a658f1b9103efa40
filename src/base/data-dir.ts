import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  readdirSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { CONFIG_FILE } from './config-file.ts'
import { AppError, codeOf, EXIT, messageOf, UsageError } from './errors.ts'
import { makeFolder, whyUnusable } from './make-folder.ts'
import { shellWord } from './words.ts'

const FIRST_CONFIG = `# Settings of this archive. The environment wins over this file,
# and a crawl's own settings (add -c KEY=VALUE) over both.
# TIMEOUT = 60                # seconds a hook may take
# MAX_SNAPSHOT_WORKERS = 2    # pages of one crawl at the same time
# WGET_ENABLED = false        # <PLUGIN>_ENABLED switches a plugin off
`

/** The folders of a data dir that are there from the start. */
export const FOLDERS = ['archive', 'plugins', 'personas', 'logs'] as const

/**
 * Creates the folders that are missing. Archived pages may come from somebody's logins: nobody else may enter the
 * archive. An existing one stays as open as it is.
 */
export function makeFolders(dataDir: string): void {
  for (const name of FOLDERS) {
    const isNew = makeFolder(join(dataDir, name)) !== undefined
    if (isNew && name === 'archive') chmodSync(join(dataDir, name), 0o700)
  }
}

/** Whether there is a data dir at this path. */
export function isDataDir(path: string): boolean {
  return existsSync(join(path, CONFIG_FILE))
}

/**
 * The absolute path of an existing data dir, symlinks resolved; or of a new one, when `create` says so.
 * Throws UsageError: not a data dir, not empty, not writable, not a directory.
 */
export function openDataDir(path: string, create: 'never' | 'if-empty' | 'force'): string {
  const wanted = resolve(path)
  if (!isDataDir(wanted)) {
    if (create === 'never') {
      requireUsable(wanted)
      throw new UsageError(
        `${wanted} is not a data dir of archivebox-ts`,
        `make one with: archivebox-ts init --data-dir ${shellWord(wanted)}`,
      )
    }
    makeDataDir(wanted, create === 'force')
  }
  const dataDir = realpathSync(wanted)
  try {
    accessSync(dataDir, constants.W_OK)
  } catch (error) {
    throw new UsageError(
      `${dataDir} is not writable: ${messageOf(error)}`,
      'choose another one with --data-dir, or fix its owner and mode',
    )
  }
  return dataDir
}

/** What every runner writes, below the folders. */
const WRITTEN = ['.runner.lock', 'index.html', 'logs/runner.log'] as const
/** Where pages and crawls are, in a folder for each day. */
const BY_DAY = ['archive/crawls', 'archive/snapshots'] as const

/** What a runner could not write in a data dir, such as after one that somebody ran as root. */
export function closedPaths(dataDir: string): string[] {
  const top = [dataDir, ...FOLDERS.map((name) => join(dataDir, name))].filter(isClosed)
  return top.length > 0 ? top : [...WRITTEN.map((name) => join(dataDir, name)), ...daysOf(dataDir)].filter(isClosed)
}

/** The newest days: a page of today goes there. */
function daysOf(dataDir: string): string[] {
  return BY_DAY.flatMap((name) => {
    const folder = join(dataDir, name)
    const newest = isOpen(folder) && existsSync(folder) ? readdirSync(folder).sort().at(-1) : undefined
    return newest === undefined ? [folder] : [join(folder, newest)]
  })
}

/** The command that opens them; as root, unless they are `ours`. */
export function toOpen(
  dataDir: string,
  closed: readonly string[],
): { readonly command: string; readonly ours: boolean } {
  const uid = process.getuid?.()
  const ours = closed.every((path) => statSync(path).uid === uid)
  return {
    ours,
    command: ours ? `chmod u+rwX ${closed.map(shellWord).join(' ')}` : `chown -R ${uid} ${shellWord(dataDir)}`,
  }
}

/** For who writes pages. Throws UsageError. */
export function requireOpen(dataDir: string): void {
  const closed = closedPaths(dataDir)
  if (closed.length === 0) return
  const { command, ours } = toOpen(dataDir, closed)
  throw new UsageError(`${closed.join(', ')} cannot be written`, ours ? command : `as root: ${command}`)
}

function isOpen(path: string): boolean {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    if (!found) return true
    accessSync(path, constants.R_OK | constants.W_OK | (found.isDirectory() ? constants.X_OK : 0))
    return true
  } catch {
    return false
  }
}

const isClosed = (path: string): boolean => !isOpen(path)

/** Throws UsageError where there can be no data dir. */
function requireUsable(path: string): void {
  const unusable = whyUnusable(path)
  if (unusable !== undefined) throw new UsageError(unusable, 'choose another one with --data-dir')
}

function makeDataDir(path: string, force: boolean): void {
  try {
    requireUsable(path)
    makeFolder(path)
    const foreign = readdirSync(path).filter((name) => name !== 'lost+found')
    if (foreign.length > 0 && !force) {
      throw new UsageError(
        `${path} is not empty and not a data dir (it holds ` +
          `${foreign.slice(0, 3).join(', ')}${foreign.length > 3 ? ', ...' : ''})`,
        `choose an empty directory, or insist with: archivebox-ts init --force --data-dir ${shellWord(path)}`,
      )
    }
    makeFolders(path)
    // Last: this file makes it a data dir.
    writeFileSync(join(path, CONFIG_FILE), FIRST_CONFIG, { flag: 'wx' })
  } catch (error) {
    if (error instanceof AppError) throw error
    if (codeOf(error) === 'EEXIST' && isDataDir(path)) return // Another process was making it too.
    throw new AppError(`cannot create the data dir ${path}: ${messageOf(error)}`, {
      exitCode: EXIT.usage,
      hint: 'choose another one with --data-dir',
      cause: error,
    })
  }
}
