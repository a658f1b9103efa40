import { join } from 'node:path'
import { readSetting } from '../../base/config.ts'
import { openDataDir } from '../../base/data-dir.ts'
import type { Asked } from '../settings.ts'

/** The folder of the data dir's personas, and the persona of crawls that name none. */
export function personasOf(asked: Asked): { readonly personas: string; readonly active: string } {
  const personas = join(openDataDir(asked.dataDir, 'never'), 'personas')
  asked.problems.refuse()
  return { personas, active: readSetting('ACTIVE_PERSONA', asked.settings.texts) }
}
