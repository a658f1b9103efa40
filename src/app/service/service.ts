import { execFile } from 'node:child_process'
import { existsSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { accounts, canReach } from '../../base/account.ts'
import { ENVIRONMENT } from '../../base/config.ts'
import { FOLDERS, openDataDir } from '../../base/data-dir.ts'
import { AppError, codeOf, messageOf, UsageError } from '../../base/errors.ts'
import { findProgram } from '../../base/find-program.ts'
import { leadsOut } from '../../base/leads-out.ts'
import { makeFolder } from '../../base/make-folder.ts'
import { asset } from '../../base/package-root.ts'
import { replaceFile } from '../../base/replace-file.ts'
import { serverStatus } from '../../db/embedded/server.ts'
import type { Configured } from '../archive.ts'
import { sourceOfDatabase } from '../settings/database-source.ts'
import { filesOf, isOurs, markOf, type Unit, unitsFor } from './units.ts'

/** Which service is meant. */
export interface WhichService {
  /** That of one user, in the service manager of that user. */
  readonly isUsers: boolean
  /** The name of its unit, without the ending. */
  readonly name: string
}

/** What was done about a service. */
export interface ServiceDone {
  /** The files that were written. */
  readonly written: readonly string[]
  readonly removed: readonly string[]
  /** Whether the service manager did its part; false: there is none here. */
  readonly isTold: boolean
  /** It runs as root, since the data dir is root's. */
  readonly isRoots: boolean
}

/** Where the units of the machine's administrator are. */
const MACHINE_UNITS = '/etc/systemd/system'
/** This folder is there while systemd is the machine's service manager. */
const BOOTED = '/run/systemd/system'
/** Where services find programs. */
const SERVICE_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
/** The stop of a service that nothing else is said of: systemd's own 90 s, less what a runner needs after it. */
const STANDARD_STOP_SECONDS = 80

/** The units of a data dir, as `installService` writes them. Throws UsageError when there can be none. */
export async function serviceUnits(configured: Configured, which: WhichService): Promise<Unit[]> {
  const { settings, databaseUrl } = configured
  const dataDir = openDataDir(configured.dataDir, 'never')
  if (/\p{Cc}/u.test(dataDir))
    throw new UsageError(`a unit cannot name ${JSON.stringify(dataDir)}`, 'rename the folder')
  refuseName(which)
  const source = sourceOfDatabase(configured)
  if (source?.name === 'command line' || source?.name === 'environment')
    throw new UsageError(
      `the service would not know DATABASE_URL, which is set ${source.where}`,
      'archivebox-ts config set DATABASE_URL ... keeps it in archivebox.toml',
    )
  const { pgdata } = await serverStatus(dataDir)
  const cluster = existsSync(pgdata) ? realpathSync(pgdata) : pgdata
  const user = which.isUsers ? undefined : ownerOf(dataDir)
  const places = [...FOLDERS.map((name) => join(dataDir, name)), cluster]
  const elsewhere = places.flatMap((path) => (existsSync(path) ? [realpathSync(path)] : []))
  const { BACKUP_DIR: backups, STOP_SECONDS: stopSeconds = STANDARD_STOP_SECONDS } = settings.config
  return unitsFor({
    ...which,
    dataDir,
    cluster: databaseUrl === undefined ? cluster : undefined,
    program: programFor(user),
    user: user?.name,
    places: [dataDir, ...new Set(elsewhere.filter((path) => leadsOut(relative(dataDir, path))))],
    backups,
    stopSeconds,
    canNotify: findProgram('systemd-notify', SERVICE_PATH) !== undefined,
  })
}

/** The account that a data dir belongs to; undefined: root. */
function ownerOf(dataDir: string) {
  const { uid, gid } = statSync(dataDir)
  if (uid === 0) return undefined
  const known = [...accounts().values()].find((account) => account.uid === uid)
  return known ?? { uid, gid, name: String(uid) }
}

/** The command that is this program. Throws UsageError when the service could not run it. */
function programFor(user: ReturnType<typeof ownerOf>): string[] {
  const program = [process.execPath, asset('main.js', 'main.ts')]
  for (const path of program) {
    if (path.includes('/_npx/'))
      throw new UsageError(
        `this program lies in a cache that npm may empty: ${path}`,
        'npm install --global archivebox-ts, and install the service with that',
      )
    if (!canReach(path, user, 4))
      throw new UsageError(
        `the owner of the data dir, ${user?.name}, cannot read ${path}`,
        'install the program where everybody may read it: npm install --global archivebox-ts',
      )
  }
  return program
}

/**
 * Writes the units of a data dir, and has the service manager start them, now and at each boot; those that run begin
 * anew where something has changed. Takes away a unit that it no longer needs. Throws AppError when a unit of that name
 * is somebody else's, or of another data dir.
 */
export async function installService(configured: Configured, which: WhichService): Promise<ServiceDone> {
  const units = await serviceUnits(configured, which)
  const folder = folderOf(which)
  const mark = markOf(openDataDir(configured.dataDir, 'never'))
  for (const { file } of units) {
    const before = textOf(join(folder, file))
    if (before !== undefined && before.split('\n', 1)[0] !== mark)
      throw new AppError(
        isOurs(before)
          ? `${join(folder, file)} is the service of another data dir`
          : `${join(folder, file)} is not one of ours`,
        { hint: 'choose another name with --name' },
      )
  }
  const names = units.map(({ file }) => file)
  const isNeedless = (file: string) => !names.includes(file) && textOf(join(folder, file))?.split('\n', 1)[0] === mark
  const removed = await takeAway(which, filesOf(which.name).filter(isNeedless))
  const isChanged = units.some(({ file, text }) => textOf(join(folder, file)) !== text)
  const written = names.map((file) => join(folder, file))
  attempt(written[0]!, () => {
    makeFolder(folder)
    for (const { file, text } of units) replaceFile(join(folder, file), text, { mode: 0o644 })
  })
  const isTold = canTell(which)
  if (isTold) {
    await systemctl(which, 'daemon-reload')
    await systemctl(which, 'enable', ...names)
    // The runner first: the database then stops after it, and starts before it.
    await systemctl(which, isChanged ? 'restart' : 'start', ...names.toReversed())
  }
  return { written, removed, isTold, isRoots: !which.isUsers && statSync(configured.dataDir).uid === 0 }
}

/** Stops a service and removes its units, if we wrote them. What it has archived stays. */
export async function removeService(which: WhichService): Promise<Pick<ServiceDone, 'removed' | 'isTold'>> {
  refuseName(which)
  const folder = folderOf(which)
  const found = filesOf(which.name).filter((file) => textOf(join(folder, file)) !== undefined)
  const foreign = found.find((file) => !isOurs(textOf(join(folder, file))!))
  if (foreign !== undefined) throw new AppError(`${join(folder, foreign)} is not one of ours: nothing was removed`)
  return { removed: await takeAway(which, found), isTold: canTell(which) }
}

/** Stops units of ours, and removes them. @returns their files */
async function takeAway(which: WhichService, units: readonly string[]): Promise<string[]> {
  const files = units.map((file) => join(folderOf(which), file))
  if (files.length === 0) return files
  const isTold = canTell(which)
  if (isTold) await systemctl(which, 'disable', '--now', ...units)
  attempt(files[0]!, () => {
    for (const file of files) rmSync(file)
  })
  if (isTold) await systemctl(which, 'daemon-reload')
  return files
}

function refuseName({ name }: WhichService): void {
  if (/^[a-z\d][\w.-]*$/i.test(name)) return
  throw new UsageError(`--name takes letters, digits, _, - and ., not "${name}"`)
}

function folderOf({ isUsers }: WhichService): string {
  if (process.platform !== 'linux')
    throw new UsageError(
      'there are services for systemd only',
      'let launchd, or what else you have, keep archivebox-ts run',
    )
  if (!isUsers) return MACHINE_UNITS
  return join(ENVIRONMENT['XDG_CONFIG_HOME'] || join(ENVIRONMENT['HOME'] || homedir(), '.config'), 'systemd', 'user')
}

/** Whether there is a service manager that we may tell what to do. */
function canTell({ isUsers }: WhichService): boolean {
  return existsSync(BOOTED) && (!isUsers || existsSync(`${ENVIRONMENT['XDG_RUNTIME_DIR']}/systemd/private`))
}

async function systemctl({ isUsers }: WhichService, ...words: string[]): Promise<void> {
  try {
    await promisify(execFile)('systemctl', [...(isUsers ? ['--user'] : []), ...words])
  } catch (error) {
    const [why] = messageOf(error).split('\n').slice(1).filter(Boolean)
    throw new AppError(`systemctl ${words.join(' ')}: ${why ?? messageOf(error)}`, {
      hint: `journalctl ${isUsers ? '--user-unit' : '--unit'} ${words.at(-1)} has more`,
    })
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function attempt(file: string, work: () => void): void {
  try {
    work()
  } catch (error) {
    throw new AppError(`cannot change ${file}: ${messageOf(error)}`, {
      hint: 'services of the machine are root’s to install: sudo, or --user for one of your own',
    })
  }
}
