import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { codeOf } from '../base/errors.ts'
import { replaceFile } from '../base/replace-file.ts'
import { sha256Of } from '../base/sha256.ts'
import { DEFAULT_PERSONA, type PersonaFiles, personaFiles } from '../browse/persona/files.ts'
import type { AccountSwitch } from '../processes/containment/account-switch.ts'
import { freeze, giveNew } from './hand-over.ts'

/** Our own paths, which another account cannot use. */
const OURS = /^(XDG_(CONFIG|CACHE|DATA|STATE)_HOME|XDG_RUNTIME_DIR|TMPDIR|XAUTHORITY|SHELL)$/

/**
 * The environment of a hook that runs as another account: with its own home, and the readable part of its persona.
 * @param isHosted it is one of ours, which keeps no profile: where nobody made a persona, there is nothing to look at
 */
export function forAccount(
  env: Readonly<Record<string, string>>,
  account: AccountSwitch,
  isHosted = false,
): Record<string, string> {
  const rest = Object.fromEntries(Object.entries(env).filter(([name]) => !OURS.test(name)))
  return { ...rest, ...ownPlaces(account), ...personaCopies(env, account, isHosted) }
}

/** The account's own paths: also for the host, which has no settings. */
export const ownPlaces = ({ folder, name }: AccountSwitch): Record<string, string> => ({
  HOME: folder,
  USER: name,
  LOGNAME: name,
  ARCHIVEBOX_LIB_DIR: join(folder, 'lib'),
  ARCHIVEBOX_COMPILE_CACHE: join(folder, 'compile-cache'),
})

/**
 * Copies of a persona's files for the account, with mode 600, in a folder where it changes nothing, for as long as a
 * runner leads: the originals stay ours, and nobody else can read or replace them. The browser's profile and its
 * downloads are the account's own, and kept: beside the copies, since ArchiveBox's browser looks nowhere else.
 */
function personaCopies(
  env: Readonly<Record<string, string>>,
  account: AccountSwitch,
  isHosted: boolean,
): Record<string, string> {
  const { PERSONAS_DIR: personas, ACTIVE_PERSONA: name, COOKIES_FILE: cookies, AUTH_STORAGE_FILE: storage } = env
  if (personas === undefined || name === undefined) return {}
  const folder = join(dirname(account.folder), 'personas')
  const from = personaFiles(join(personas, name))
  const to = personaFiles(join(folder, name))
  if (existsSync(from.folder) || (name === DEFAULT_PERSONA && !isHosted)) makePlaces(to, account)
  else if (name !== DEFAULT_PERSONA) forget(to.folder) // Nobody is to visit as nobody.
  for (const each of ['settings', 'cookies', 'storage'] as const) copyFor(account, from[each], to[each])
  const copyOf = (file: string | undefined, own: 'cookies' | 'storage') => {
    if (file === undefined || file === from[own]) return file && to[own]
    const copy = join(folder, `${sha256Of(file).slice(0, 16)}.txt`)
    copyFor(account, file, copy)
    return copy
  }
  const paths = {
    PERSONAS_DIR: folder,
    COOKIES_FILE: copyOf(cookies, 'cookies'),
    AUTH_STORAGE_FILE: copyOf(storage, 'storage'),
    ...(env['CHROME_USER_DATA_DIR'] === from.profile && { CHROME_USER_DATA_DIR: to.profile }),
    ...(env['CHROME_DOWNLOADS_DIR'] === from.downloads && { CHROME_DOWNLOADS_DIR: to.downloads }),
  }
  return Object.fromEntries(Object.entries(paths).filter((entry): entry is [string, string] => entry[1] !== undefined))
}

/**
 * Removes the copies of all personas, while no hook runs that needs one, and all of a persona that was deleted. When
 * their folder is gone, maybe with the whole data dir, there is nothing to do: the caller's cleanup will report a
 * better error.
 */
export function forgetPersonas(account: AccountSwitch | undefined): void {
  if (!account) return
  const folder = join(dirname(account.folder), 'personas')
  const originals = join(dirname(dirname(account.folder)), 'personas')
  try {
    for (const name of readdirSync(folder))
      if (name === DEFAULT_PERSONA || existsSync(join(originals, name))) forgetCopies(join(folder, name))
      else forget(join(folder, name))
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) throw error
  }
}

/** The folder for copies, and in it those that are the account's own. Workers may make them at once, or be killed. */
function makePlaces({ folder, profile, downloads }: PersonaFiles, account: AccountSwitch): void {
  if (!existsSync(folder)) {
    mkdirSync(folder, { recursive: true })
    chmodSync(folder, 0o711)
  }
  for (const own of [profile, downloads])
    if (statSync(own, { throwIfNoEntry: false })?.uid !== account.uid) {
      mkdirSync(own, { recursive: true, mode: 0o700 })
      giveNew(own, account)
    }
}

/** What is the account's own stays, unless nothing is in it. */
function forgetCopies(folder: string): void {
  const { profile, downloads } = personaFiles(folder)
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    if (path === profile || path === downloads) removeIfEmpty(path)
    else rmSync(path, { force: true })
  }
  removeIfEmpty(folder)
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch (error) {
    if (codeOf(error) !== 'ENOTEMPTY') throw error
  }
}

function forget(path: string): void {
  freeze(path)
  rmSync(path, { recursive: true, force: true })
}

/** Copies a file for an account, unless its copy is as new; removes the copy of a missing one. */
function copyFor({ uid, gid }: AccountSwitch, from: string, to: string): void {
  const [source, copy] = [from, to].map((path) => statSync(path, { throwIfNoEntry: false }))
  if (!source?.isFile()) {
    rmSync(to, { force: true })
    return
  }
  if (copy?.uid === uid && copy.mtimeMs === source.mtimeMs && copy.size === source.size) return
  replaceFile(to, readFileSync(from), { owner: { uid, gid }, times: source, aside: `${to}.${process.pid}` })
}
