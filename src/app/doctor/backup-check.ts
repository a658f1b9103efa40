import { existsSync } from 'node:fs'
import { knownDataDirId } from '../../base/data-dir-id.ts'
import { duration, sizeText } from '../../base/words.ts'
import type { BackupRow } from '../../db/backups.ts'
import type { Database } from '../../db/database.ts'
import { backupFacts } from '../status/backups.ts'
import { type Examined, type Finding, green, yellow } from './check.ts'

/** A scheduled backup that is late by this share of its time is missing. */
const LATE = 0.2
const BY_HAND = 'archivebox-ts backup rows.zst'

/** Whether there is a backup that is new enough, and no attempt has failed since. */
export async function backups({ dataDir, settings }: Examined, db: Database): Promise<Finding> {
  const { last, failed, every_s: every, next_in_s: next } = await backupFacts(db, settings)
  if (failed) return yellow(`failed ${duration(failed.age_s)} ago: ${failed.why}; ${lastText(last)}`, BY_HAND)
  if (every !== null && next !== null && next < -LATE * every)
    return yellow(`${lastText(last)}, BACKUP_EVERY asks for one every ${duration(every)}`, 'archivebox-ts run')
  if (!last)
    return green(every === null ? 'none yet; BACKUP_EVERY=day makes one a day' : 'none yet: the runner makes it')
  const isHere = last.data_dir_id === knownDataDirId(dataDir)
  if (last.is_scheduled && isHere && !existsSync(last.file)) return yellow(`${last.file} is gone`, BY_HAND)
  return green(lastText(last))
}

function lastText(last: Pick<BackupRow, 'age_s' | 'size'> | null): string {
  if (!last) return 'there is none'
  return `the last one is ${duration(last.age_s)} old${last.size === null ? '' : ` (${sizeText(last.size)})`}`
}
