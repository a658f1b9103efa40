import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { configIn, configText } from './config-file.ts'
import { sha256Of } from './sha256.ts'

/** The folder of the data dir with a file for each machine that has its own settings. */
export const MACHINES = 'machines'

/** The identity of this machine: its machine-id, hashed with our name so as not to reveal it; else its host name. */
export function machineGuid(): string {
  let id = ''
  try {
    id = readFileSync('/etc/machine-id', 'utf8').trim()
  } catch {
    // Minimal containers have none.
  }
  return sha256Of(`archivebox-ts ${id || hostname()}`)
}

/** The name of a machine's file in `MACHINES`. */
export function machineFile(guid: string): string {
  return `${guid.slice(0, 16)}.toml`
}

/** The settings of a machine, in the form of `readConfigFile`. Throws UsageError. */
export async function readMachineFile(dataDir: string, guid = machineGuid()): Promise<Record<string, string>> {
  const file = join(dataDir, MACHINES, machineFile(guid))
  return await configIn(configText(file) ?? '', file)
}
