import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { arch, hostname, platform } from 'node:os'
import type { Database } from '../db/database.ts'
import { machineRow } from '../db/machines.ts'

/** What names this machine: its machine-id, hashed with our name so as not to give it away; else its host name. */
function machineGuid(): string {
  let id = ''
  try {
    id = readFileSync('/etc/machine-id', 'utf8').trim()
  } catch {
    // Minimal containers have none.
  }
  return createHash('sha256')
    .update(`archivebox-ts ${id || hostname()}`)
    .digest('hex')
}

/** The row of this machine, made on first sight. */
export async function currentMachine(db: Database): Promise<{ id: string; hostname: string }> {
  return await machineRow(db, { guid: machineGuid(), hostname: hostname(), platform: platform(), arch: arch() })
}
