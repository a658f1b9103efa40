import { chmodSync, existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { many } from '../../base/words.ts'
import { hasLogins } from '../../browse/persona/credentials.ts'
import { personaFiles, personasIn } from '../../browse/persona/files.ts'
import { allPersonas } from '../personas/record.ts'
import { type Check, type Examined, type Finding, green, yellow } from './check.ts'

/** Whoever can read the files of a persona can use its logins. */
export const PERSONA_CHECK: Check = { name: 'personas', look: personas }

const FOR_OTHERS = 0o077

async function personas({ dataDir }: Examined): Promise<Finding> {
  const folder = join(dataDir, 'personas')
  const names = personasIn(folder)
  const open = names.map((name) => personaFiles(join(folder, name)).folder).filter(isOpenToOthers)
  if (open.length > 0)
    return {
      ...yellow(`other accounts can read the logins in ${open.join(', ')}`, `chmod go= ${open.join(' ')}`),
      fix: async () => {
        for (const each of open) chmodSync(each, statSync(each).mode & ~FOR_OTHERS)
        return `closed ${open.join(', ')} to others`
      },
    }
  const all = await allPersonas(folder)
  const broken = all.flatMap((each) => ('problem' in each ? each.problem : []))
  if (broken[0] !== undefined) return yellow(broken[0], 'archivebox-ts persona list')
  const archive = join(dataDir, 'archive')
  if (isForAll(archive) && all.some((each) => 'files' in each && hasLogins(each)))
    return {
      ...yellow(`every account can read pages in ${archive} that were archived with logins`, `chmod go= ${archive}`),
      fix: async () => {
        chmodSync(archive, statSync(archive).mode & ~FOR_OTHERS)
        return `closed ${archive} to others`
      },
    }
  return green(names.length === 0 ? 'none' : many(names.length, 'persona'))
}

/** Whether everybody on this machine may enter. A group may have access on purpose: a web server's. */
function isForAll(folder: string): boolean {
  return existsSync(folder) && (statSync(folder).mode & 0o007) !== 0
}

/** A folder that others cannot enter hides its files from them. */
function isOpenToOthers(folder: string): boolean {
  return existsSync(folder) && (statSync(folder).mode & FOR_OTHERS) !== 0
}
