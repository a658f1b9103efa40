import { arch, hostname, platform } from 'node:os'
import { machineGuid } from '../base/machine-file.ts'
import type { Database } from '../db/database.ts'
import { machineRow } from '../db/machines.ts'

/** The row of this machine, created on first sight. */
export async function currentMachine(db: Database): Promise<{ id: string; hostname: string }> {
  return await machineRow(db, { guid: machineGuid(), hostname: hostname(), platform: platform(), arch: arch() })
}
