import { lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { livenessOf, ownIdentity, type ProcessIdentity } from '../../src/processes/identity.ts'
import { killAll, processesOf, type Seen } from './processes.ts'
import { eventually } from './program.ts'

/** The file in a run's temporary directory that names the run. */
export const OWNER = '.owner'

/** Notes in a temporary directory that it belongs to this process. */
export async function own(folder: string): Promise<void> {
  writeFileSync(join(folder, OWNER), JSON.stringify(await ownIdentity()))
}

/** Ends and removes everything that killed runs left in `parent`: their directories, and the servers that run there. */
export async function removeDeadRuns(parent: string): Promise<void> {
  for (const name of readdirSync(parent)) {
    const folder = join(parent, name)
    if (!/^abx-\w{6}$/.test(name) || !(await isDead(folder))) continue
    await eventually(() => {
      const left = processesOf(folder).filter((each) => isOfRun(each, folder))
      killAll(left)
      return left.length === 0
    })
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Excludes a shell that was opened there by hand. */
function isOfRun({ command, environ }: Seen, folder: string): boolean {
  return [command, ...environ].some((text) => text.includes(folder) && !/^(OLD)?PWD=/.test(text))
}

async function isDead(folder: string): Promise<boolean> {
  try {
    if (lstatSync(folder).uid !== process.getuid?.()) return false
    const owner = JSON.parse(readFileSync(join(folder, OWNER), 'utf8')) as ProcessIdentity
    return (await livenessOf(owner)) === 'gone'
  } catch {
    return false // It has no note, or another run is removing it.
  }
}
