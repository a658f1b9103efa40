import { chmodSync, chownSync, existsSync, mkdirSync, statSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import { type Account, accounts, allows } from '../base/account.ts'
import type { Settings } from '../base/config.ts'
import { AppError, messageOf, UsageError } from '../base/errors.ts'
import { asset } from '../base/package-root.ts'
import { unsandboxedBy } from '../base/sandbox.ts'
import { serverAccount } from '../db/embedded/account.ts'
import { clusterOf } from '../db/embedded/cluster.ts'
import { type AccountSwitch, canSwitch, grantsSandbox, waysToSwitch } from '../processes/containment/account-switch.ts'
import { runs } from '../processes/containment/runs.ts'
import { pluginTrees } from './discover.ts'
import type { Becoming } from './upstream/ask-program.ts'
import { libDir, nodeModulesDir } from './upstream/plugin-tree.ts'

/** The account that hooks run as. */
export interface HookAccount {
  /** Undefined: that of whoever runs the program. */
  readonly account?: AccountSwitch
  /** A warning for the operator. */
  readonly careful?: string
}

/**
 * Finds out which account hooks run as, and creates a folder in the data dir for it. When we are root: HOOK_USER, else
 * the owner of the database cluster; or root, with a warning, where that account cannot reach the data dir. Throws
 * UsageError for an impossible HOOK_USER.
 */
export async function findHookAccount(dataDir: string, settings: Settings): Promise<HookAccount> {
  const named = settings.config.HOOK_USER
  const found = chosenAccount(dataDir, named)
  if (found === undefined || found instanceof Error) {
    if (!found) return {}
    if (named !== undefined) throw found
    return { careful: asRoot(found.message) }
  }
  try {
    const folder = folderOf(dataDir, found)
    openWay(dataDir, found)
    const ways = waysToSwitch(found, places(dataDir, settings), named !== undefined)
    const account = await firstThatWorks(ways.map((argv) => ({ ...found, folder, argv })))
    if (!account) {
      const [why, hint] =
        ways.length === 0
          ? ['there is no setpriv (or unshare, or mount) to become another user with', 'install util-linux']
          : [
              `user ${found.name} cannot be made to reach ${dataDir} or the program`,
              'let every user enter the folders above them (chmod o+x), or move them',
            ]
      if (named !== undefined) throw new UsageError(`HOOK_USER=${named}: ${why}`, hint)
      return { careful: asRoot(`${why}: ${hint}`) }
    }
    if (unsandboxedBy(settings.texts, found.uid) !== undefined || (await grantsSandbox(account))) return { account }
    return { account, careful: `the kernel grants no sandbox here: browsers run as user ${found.name} without one` }
  } catch (error) {
    if (error instanceof UsageError || named !== undefined) throw error
    return { careful: asRoot(messageOf(error)) }
  }
}

/**
 * How to run a command as the account that hooks run as, without making anything for it. Undefined: they run as we do.
 */
export async function becomeHookAccount(dataDir: string, settings: Settings): Promise<Becoming | undefined> {
  const named = settings.config.HOOK_USER
  const account = chosenAccount(dataDir, named)
  if (account === undefined || account instanceof Error) return undefined
  for (const argv of waysToSwitch(account, places(dataDir, settings), named !== undefined))
    if (await runs([...argv, 'true'])) return { name: account.name, argv }
  return undefined
}

async function firstThatWorks(ways: readonly AccountSwitch[]): Promise<AccountSwitch | undefined> {
  for (const way of ways) if (await canSwitch(way, [process.execPath, asset('main.js', 'main.ts')])) return way
  return undefined
}

const asRoot = (why: string) => `hooks and browsers run as root, these without their sandbox: ${why}`

/** The account; undefined: our own. An error: there is none. Changes nothing. */
export function chosenAccount(dataDir: string, named: string | undefined): Account | Error | undefined {
  const uid = process.geteuid?.()
  const account = named === undefined ? undefined : accounts().get(named)
  if (named !== undefined && !account)
    return new UsageError(`HOOK_USER=${named}: there is no such user`, 'name one of /etc/passwd, or root')
  if (account?.uid === uid) return undefined
  if (uid !== 0)
    return named === undefined
      ? undefined
      : new UsageError(`HOOK_USER=${named}: only root can run hooks as another user`, 'run as root, or leave it out')
  if (account) return account
  try {
    const { pgdata } = clusterOf(dataDir)
    const owner = existsSync(pgdata) ? statSync(pgdata) : undefined
    return serverAccount(owner?.uid === 0 ? undefined : owner)
  } catch (error) {
    return error instanceof AppError ? error : new AppError(messageOf(error))
  }
}

/**
 * The folder of an account: its home, the browser that it unpacks, and, in a folder of ours, what it may read of a
 * persona.
 */
function folderOf(dataDir: string, account: Account): string {
  const folder = join(dataDir, `.hooks-${account.uid}`)
  mkdirSync(join(folder, 'personas'), { recursive: true })
  for (const each of [folder, join(folder, 'personas')]) chmodSync(each, 0o711)
  const own = join(folder, 'own')
  if (!existsSync(own)) {
    mkdirSync(own, { mode: 0o700 })
    chownSync(own, account.uid, account.gid)
  }
  return own
}

/**
 * Lets the account's group pass through those folders of the data dir that are closed to it, unless they have a group.
 * If our umask closes new folders, workers open them (`openFor`), and the archive as a whole is closed instead.
 */
function openWay(dataDir: string, account: Account): void {
  const archive = join(dataDir, 'archive')
  for (const folder of [dataDir, archive, join(dataDir, 'plugins')]) {
    const isClosed = folder === archive && (process.umask() & OTHERS) !== 0
    if (!existsSync(folder) || (!isClosed && allows(folder, account, 1))) continue
    const { uid, gid, mode } = statSync(folder)
    if (uid !== 0 || (gid !== 0 && (mode & 0o070) !== 0)) continue
    chownSync(folder, uid, account.gid)
    chmodSync(folder, isClosed ? 0o710 : (mode & 0o707) | 0o010)
  }
}

/** What others may do with folders and files that they only read. */
const OTHERS = 0o055

/** Makes new files of this worker accessible to hooks of another account. */
export function openFor(account: Account | undefined): void {
  if (account) process.umask(process.umask() & ~OTHERS)
}

/** The places that hooks must be able to reach. */
function places(dataDir: string, { texts }: Settings): string[] {
  const root = dirname(asset('', ''))
  const installed = root.indexOf('/node_modules/')
  const program = installed < 0 ? root : root.slice(0, installed)
  const searched = (texts['PATH'] ?? '').split(delimiter).filter(isAbsolute)
  const browser = texts['CHROME_BINARY'] && isAbsolute(texts['CHROME_BINARY']) ? [texts['CHROME_BINARY']] : []
  const installs = [libDir(texts), nodeModulesDir(texts), ...pluginTrees(dataDir, texts)]
  return [dataDir, program, process.execPath, ...installs, ...browser, ...searched]
}
