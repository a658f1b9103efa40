import { existsSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { CONFIG_FILE, configIn, configText, entriesIn, written } from './config-file.ts'
import { AppError, messageOf, UsageError } from './errors.ts'
import { FileLock } from './file-lock.ts'
import { put } from './own.ts'
import { replaceFile } from './replace-file.ts'

/** The TOML values that a setting can have. */
export type TomlValue = string | number | boolean | readonly string[]

/** New values of settings, by name; undefined removes one. */
export type Changes = ReadonlyMap<string, TomlValue | undefined>

/**
 * Changes settings in a TOML file, usually archivebox.toml, all at once; all other lines and comments stay as they are.
 * Several processes may do so at once. Throws UsageError for a file that is not TOML, and AppError when more than that
 * would change.
 * @returns whether the file has changed
 */
export async function editConfig(folder: string, changes: Changes, name = CONFIG_FILE): Promise<boolean> {
  return await locked(join(folder, name), async (file) => {
    const before = configText(file) ?? ''
    const expected = await configIn(before, file)
    let after = before
    for (const [key, value] of changes) {
      after = await edited(after, key, value)
      if (value === undefined) delete expected[key]
      else put(expected, key, written(value))
    }
    if (!isDeepStrictEqual(await configIn(after, file), expected))
      throw new AppError(`${file} cannot be changed without changing other lines`, {
        hint: 'change it by hand: archivebox-ts config edit',
      })
    if (after === before) return false
    replace(file, after)
    return true
  })
}

/** Replaces such a file by `text`; false when somebody has changed it since it was `before`. */
export async function replaceConfig(path: string, before: string, text: string): Promise<boolean> {
  return await locked(path, async (file) => {
    if ((configText(file) ?? '') !== before) return false
    replace(file, text)
    return true
  })
}

async function locked<T>(file: string, work: (file: string) => Promise<T>): Promise<T> {
  const lock = new FileLock(join(dirname(file), '.config.lock'))
  try {
    await lock.exclusive()
    return await work(file)
  } finally {
    lock.release()
  }
}

async function edited(text: string, key: string, value: TomlValue | undefined): Promise<string> {
  const { parse, patch } = await import('@decimalturn/toml-patch')
  const parsed = parse(text) as Record<string, unknown>
  const found = entriesIn(parsed).filter((entry) => entry.key === key)
  if (value !== undefined) {
    if (found.length === 0) parsed[key] = value
    for (const { table, as } of found) table[as] = value
    return patch(text, parsed)
  }
  if (found.length === 0) return text
  // The library would remove a key together with the comments above it: only the key's own line must go.
  for (const { table, as } of found) table[as] = DOOMED
  const marked = patch(text, parsed)
  const rest = marked.replaceAll(DOOMED_LINE, '')
  if (!rest.includes(DOOMED)) return rest
  for (const { table, as } of found) delete table[as]
  return patch(text, parsed)
}

/** Marks a value whose line is removed. */
const DOOMED = 'archivebox-ts-removes-this-line'
const DOOMED_LINE = new RegExp(`^[^\\n{]*=[ \\t]*"${DOOMED}"[^\\n]*(\\n|$)`, 'gm')

/** The file keeps its mode and owner, also behind a link. Needs a lock. */
function replace(path: string, text: string): void {
  const file = existsSync(path) ? realpathSync(path) : path
  const was = statSync(file, { throwIfNoEntry: false })
  const mode = was ? was.mode & 0o777 : 0o644 & ~process.umask()
  const isOurs = !was || (was.uid === process.getuid?.() && was.gid === process.getgid?.())
  try {
    replaceFile(file, text, { mode, owner: isOurs ? undefined : was })
  } catch (error) {
    throw new UsageError(`cannot write ${file}: ${messageOf(error)}`, 'fix the owner and mode of its folder')
  }
}
