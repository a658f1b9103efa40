import { existsSync, readdirSync, rmSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Settings } from '../../base/config.ts'
import { left } from '../../base/disk-space.ts'
import { messageOf } from '../../base/errors.ts'
import { makeFolder } from '../../base/make-folder.ts'
import { sizeText } from '../../base/words.ts'
import { fingerprintOf } from '../../db/backup/backup-file.ts'
import { type BackupRow, endedBackups, forgetBackups } from '../../db/backups.ts'
import type { Home } from '../../db/home.ts'
import { isDead, readProc } from '../../processes/proc.ts'
import { removeScratch } from './try-restore.ts'

/** The names that the schedule gives: the data dir, as several may have one folder, and the moment. */
const OWN_NAME = /^archivebox-[0-9a-f]{8}-\d{8}T\d{9}Z\.zst$/
const MB = 1_000_000
/** The archive has grown since the last backup. */
const GROWTH = 1.5

/** The file of the next scheduled backup. */
export function nextFile({ dataDir, dataDirId }: Home, { config }: Settings): string {
  const moment = new Date().toISOString().replaceAll(/[-:.]/g, '')
  const folder = resolve(config.BACKUP_DIR ?? join(dataDir, 'backups'))
  return join(folder, `archivebox-${dataDirId.slice(-8)}-${moment}.zst`)
}

/** Makes the folder of a backup if it is missing. @returns why none can be made there; undefined: one can */
export function whyNoRoom(
  file: string,
  last: Pick<BackupRow, 'size'> | null,
  { config }: Settings,
): string | undefined {
  const folder = dirname(file)
  try {
    makeFolder(folder)
  } catch (error) {
    return `${folder} cannot be made: ${messageOf(error)}`
  }
  const needed = (last?.size ?? 0) * GROWTH + config.DISK_FLOOR * MB
  const { bytes } = left(folder)
  return bytes < needed ? `${sizeText(bytes)} free in ${folder}: a backup needs ${sizeText(needed)}` : undefined
}

/**
 * Removes what a killed attempt left of a file, and of one that the schedule named what never was a backup. Pids are
 * given again: ours was that of an earlier process, and a name of the schedule has one attempt, which is over.
 */
export async function removeRemains({
  file,
  is_scheduled: isScheduled,
}: Pick<BackupRow, 'file' | 'is_scheduled'>): Promise<void> {
  const folder = dirname(file)
  if (!existsSync(folder)) return
  const isOwnName = isScheduled && OWN_NAME.test(basename(file))
  const isOver = (pid: number) => isOwnName || pid === process.pid || !isThere(pid)
  const part = /^(.*?)(?:\.files)?\.(\d+)\.part$/
  for (const name of readdirSync(folder)) {
    const [, of, pid] = part.exec(name) ?? []
    if (of === basename(file) && isOver(Number(pid))) rmSync(join(folder, name), { force: true })
  }
  if (!isOwnName) return
  await removeScratch(file)
  removeBackup(file)
}

/**
 * Deletes scheduled backups beyond the newest ones: those whose name is ours, and whose content is that of their row.
 * What else is in that folder is left alone, and rows that tell nothing any more are forgotten.
 */
export async function keepNewest(home: Home, count: number): Promise<void> {
  const rows = await endedBackups(home)
  const isGood = ({ status }: BackupRow) => status === 'succeeded'
  const kept = rows.filter((row) => row.is_scheduled && isGood(row)).slice(0, count)
  const newest = rows.find(isGood)
  const old = rows.filter((row) => newest && row.begun_at < newest.begun_at && !kept.includes(row))
  for (const { file, sha256, status, is_scheduled: isScheduled } of old) {
    if (status !== 'succeeded' || !isScheduled || !OWN_NAME.test(basename(file))) continue
    if (sha256 !== null && (await fingerprintOf(file)) === sha256) removeBackup(file)
  }
  await forgetBackups(
    home.db,
    old.map(({ id }) => id),
  )
}

function isThere(pid: number): boolean {
  const found = readProc(pid)
  return found !== null && !isDead(found)
}

function removeBackup(file: string): void {
  for (const each of [file, `${file}.files`]) rmSync(each, { force: true })
}
