import { mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { codeOf } from '../../base/errors.ts'
import { orNothing } from '../proc.ts'
import { runs } from './runs.ts'

/** The folder of all runners in the control group that a runner was started in. */
const OURS = 'archivebox-ts'
/** The folder of all runners, and a worker's group in that of its runner. */
const GOES_WITH_ITS_LAST = new RegExp(`/${OURS}(/[^/]+/[^/]+)?$`)

/** Enters a group, then becomes the command: from the first instruction on, whatever it starts is in there, too. */
const ENTER = 'echo 0 >"$0/cgroup.procs" && exec "$@"'

/** A group that has been empty for this long will not be entered by a process that was about to. */
const LEFTOVER_MS = 60_000

/**
 * Finds out whether a runner can have a control group (version 2) inside that of this process. It is created with the
 * first hook.
 * @returns its path, or why there is none
 */
export async function findCgroup(runnerId: string): Promise<{ readonly path: string } | { readonly missing: string }> {
  const own = ownCgroup()
  if (!own) return { missing: 'no control groups (version 2) are mounted' }
  const path = join(own, OURS, runnerId)
  try {
    mkdirSync(path, { recursive: true })
    const works = readdirSync(path).includes('cgroup.kill') && (await runs(enterCgroup(path, ['true'])))
    removeCgroup(path)
    removeLeftovers(join(own, OURS))
    return works ? { path } : { missing: `processes cannot be moved below ${own}, or the kernel is older than 5.14` }
  } catch (error) {
    return { missing: `${own} is not ours to write (${codeOf(error) ?? String(error)})` }
  }
}

/** Removes empty groups that no later runner knew of. They do no harm, but clutter the tree. */
function removeLeftovers(parent: string): void {
  for (const runner of below(parent)) {
    const isOld = [runner, ...below(runner)].every((path) => ageOf(path) > LEFTOVER_MS)
    if (isOld && isEmptyCgroup(runner)) removeCgroup(runner)
  }
}

/** Milliseconds since something was last created in a folder; 0 when it no longer exists. */
function ageOf(path: string): number {
  return Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
}

/** The command that runs `argv` in the group at `path`, which must exist by then. */
export function enterCgroup(path: string, argv: readonly string[]): string[] {
  return ['/bin/sh', '-c', ENTER, path, ...argv]
}

/** The pids in a group and all below it; none when there is no such group. Zombies are not listed. */
export function pidsIn(path: string): number[] {
  return orNothing(() => {
    const own = readFileSync(join(path, 'cgroup.procs'), 'latin1').split('\n').map(Number)
    return [...own.filter((pid) => pid > 1), ...below(path).flatMap(pidsIn)]
  }, [])
}

/** Whether nobody is in this group or below it. */
export function isEmptyCgroup(path: string): boolean {
  return pidsIn(path).length === 0
}

/** Kills whatever is in a group and below it, in one step that no fork escapes. */
export function killCgroup(path: string): void {
  try {
    writeFileSync(join(path, 'cgroup.kill'), '1')
  } catch {
    // Gone already, which is as good.
  }
}

/** The ids of the workers whose group, inside that of their runner, is not empty. */
export function workersIn(runner: string): string[] {
  return below(runner).flatMap((path) => (isEmptyCgroup(path) ? [] : [basename(path)]))
}

/**
 * Removes a group with those below it. Once it is gone, it was certainly empty, and no process can enter it any more.
 * @returns whether it is gone
 */
export function removeCgroup(path: string): boolean {
  try {
    for (const inner of below(path)) removeCgroup(inner)
    rmdirSync(path)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') return false
  }
  try {
    if (GOES_WITH_ITS_LAST.test(dirname(path))) rmdirSync(dirname(path))
  } catch {
    // Other groups are in there.
  }
  return true
}

/**
 * The group that a row names, if it is the one that we would have created for it: a row that was edited by hand must
 * not get other processes killed.
 */
export function cgroupIn(row: {
  readonly id: string
  readonly runner_id: string | null
  readonly cgroup: string | null
}): string[] {
  if (!row.cgroup?.startsWith('/sys/fs/cgroup/') || row.cgroup.includes('/../')) return []
  const place = row.cgroup.split(`/${OURS}/`).at(-1)!.split('/')
  const [runner, id] = row.runner_id === null ? [row.id, row.id] : [row.runner_id, row.id]
  return place.length <= 3 && place[0] === runner && place.at(-1) === id ? [row.cgroup] : []
}

/** The groups in a group; none when it no longer exists. */
function below(path: string): string[] {
  try {
    return readdirSync(path, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? [join(path, entry.name)] : [],
    )
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENODEV') return []
    throw error
  }
}

/** The path of our own group in the file system. */
function ownCgroup(): string | undefined {
  try {
    const mount = readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .map((line) => line.split(' '))
      .find((fields) => fields[fields.indexOf('-') + 1] === 'cgroup2')
    const path = /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1]
    const [root, point] = [mount?.[3], mount?.[4]]
    if (path === undefined || root === undefined || point === undefined) return undefined
    return join(point, path.startsWith(root) ? path.slice(root === '/' ? 0 : root.length) : path)
  } catch {
    return undefined
  }
}
