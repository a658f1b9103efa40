import { existsSync, realpathSync, statSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import { type Account, closedAbove } from '../../base/account.ts'
import { findProgram } from '../../base/find-program.ts'
import { runs } from './runs.ts'

/** Another account that hooks run as, and how a command switches to it. Plain data. */
export interface AccountSwitch extends Account {
  /** The prefix of a command. */
  readonly argv: readonly string[]
  /** A folder of the data dir for the account's own files. */
  readonly folder: string
}

/** Where another file system can be mounted for a moment, while it is built. */
const STAGES = ['/mnt', '/media', '/srv', '/opt']

// Until the switch a command runs as root: its programs come from our PATH, never from that of a hook.
const programNamed = (name: string) => findProgram(name, process.env['PATH']) ?? ''

/**
 * The prefix that makes a command run as `account`. Where that may not enter a folder on the way to one of `places` (a
 * checkout below /root), the command gets a view of the file system in which this folder has nothing but those places:
 * same paths, and no mode of anything is changed.
 * @param withGroups with all groups of the account
 * @returns the ways to do it; the first one that works here is to be used
 */
export function waysToSwitch(account: Account, places: readonly string[], withGroups: boolean): readonly string[][] {
  const groups = withGroups ? '--init-groups' : '--clear-groups'
  const names = ['setpriv', 'unshare', 'mount', 'nsenter', 'mkdir'] as const
  const [setpriv = '', unshare = '', mount = '', nsenter = '', mkdir = ''] = names.map(programNamed)
  if (setpriv === '') return []
  const become = [setpriv, '--reuid', String(account.uid), '--regid', String(account.gid), groups]
  const closed = new Map<string, string[]>()
  for (const place of new Set(places.filter((each) => existsSync(each)).map((each) => realpathSync(each)))) {
    const above = closedAbove(place, account)
    if (above !== undefined) closed.set(above, [...(closed.get(above) ?? []), place])
  }
  if (closed.size === 0) return [become]
  const all = [...closed].flatMap(([above, inside]) => [above, ...inside])
  const stage = STAGES.find((each) => existsSync(each) && !all.some((path) => isIn(path, each)))
  if (stage === undefined || unshare === '' || mount === '') return []
  const views = [...closed].map(([above, inside]) => viewOf(above, outermost(inside), stage))
  const tools = `mount=${quoted(mount)} mkdir=${quoted(mkdir)}`
  const after = (first: readonly string[]) => {
    const script = [tools, ...first, ...views, 'cd "$PWD"', 'exec "$@"'].join(' && ')
    return ['/bin/sh', '-c', script, 'view', ...become]
  }
  // Our mounts must not be seen elsewhere. In a chroot only the second way works: a process that enters a namespace is
  // at its root, whatever the chroot was.
  const atItsRoot = `${quoted(nsenter)} --mount=/proc/self/ns/mnt mount --make-rprivate /`
  return [
    [unshare, '--mount', ...after([])],
    [unshare, '--mount', '--propagation', 'unchanged', ...after([atItsRoot])],
  ]
}

/** Shell commands that make `above` a folder with nothing but `inside`. */
function viewOf(above: string, inside: readonly string[], stage: string): string {
  const commands = inside.flatMap((place) => {
    const at = quoted(join(stage, relative(above, place)))
    const folder = quoted(join(stage, relative(above, place), '..'))
    const make = statSync(place).isDirectory() ? `"$mkdir" -p ${at}` : `"$mkdir" -p ${folder} && : >${at}`
    return [make, `"$mount" --rbind ${quoted(place)} ${at}`]
  })
  const tmpfs = `"$mount" -t tmpfs -o mode=755,size=1m archivebox-ts ${quoted(stage)}`
  return [tmpfs, ...commands, `"$mount" --move ${quoted(stage)} ${quoted(above)}`].join(' && ')
}

const outermost = (paths: readonly string[]): string[] =>
  paths.filter((path) => !paths.some((other) => other !== path && isIn(path, other)))
const isIn = (path: string, folder: string): boolean => resolve(path) === folder || path.startsWith(folder + sep)
const quoted = (path: string): string => `'${path.replaceAll("'", "'\\''")}'`

/**
 * Whether it works here: the account can read these files and write to its folder.
 * @param files the program's own, and the Node that runs it
 */
export async function canSwitch({ argv, folder }: AccountSwitch, files: readonly string[]): Promise<boolean> {
  const test = ['for file; do test -r "$file" || exit 1; done', `test -w ${quoted(folder)}`].join('; ')
  return await runs([...argv, '/bin/sh', '-c', test, 'test', ...files])
}

/** Whether the kernel lets the account create the namespaces that a browser's sandbox consists of. */
export async function grantsSandbox({ argv }: AccountSwitch): Promise<boolean> {
  return await runs([...argv, 'unshare', '--user', '--pid', '--net', '--fork', 'true'])
}
