import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import { sleep } from '../../base/abort.ts'
import { messageOf } from '../../base/errors.ts'
import { uuidv7 } from '../../base/ids.ts'
import type { Log } from '../../base/log.ts'
import { type BackupRow, beginDueBackup, failBackup, failKilledBackups, knownBackups } from '../../db/backups.ts'
import type { Beside } from '../../runner/options.ts'
import type { Archive } from '../archive.ts'
import { secondsToNext } from '../status/backups.ts'
import { keepNewest, nextFile, removeRemains, whyNoRoom } from './own-files.ts'

/** Somebody may make a backup by hand: how long we sleep at most before we look again. */
const LOOK_MS = 30_000
/** How long one that is under way may take to end on a drain. */
const LEAVE_MS = 2_000

/** Starts the process that fills a backup, whose row is there. */
type Start = (backup: { readonly id: string; readonly file: string }) => ChildProcess

/**
 * The backups of a leader: when one is due, in a process of its own that lets everything else go first. A drain ends
 * it; the next leader begins again. Of several data dirs on a database, one makes it.
 * @param runnerId the leader's row: its death is that of the backup
 */
export function scheduledBackups(
  { home, settings }: Pick<Archive, 'home' | 'settings'>,
  runnerId: string,
  start: Start,
  log: Log,
): Beside {
  const { BACKUP_EVERY: every, BACKUP_KEEP: most } = settings.config
  const make = async (last: BackupRow | null, over: AbortSignal) => {
    for (const row of await failKilledBackups(home, runnerId, 'its process was killed')) await removeRemains(row)
    const id = uuidv7()
    const file = nextFile(home, settings)
    if (!(await beginDueBackup(home, { id, processId: runnerId, file }, last))) return
    const end = whyNoRoom(file, last, settings) ?? (await ended(start({ id, file }), over))
    if (over.aborted) return
    await failBackup(home.db, id, end) // Unless it has ended its row itself, with success or a better reason.
    const { failed } = await knownBackups(home.db)
    if (failed?.id !== id) {
      await keepNewest(home, most)
      return log.info(`made a backup: ${file}`, { event: 'backup.made', file })
    }
    await removeRemains({ file, is_scheduled: true })
    log.error(`the backup failed: ${failed.why}`, { event: 'backup.failed', why: failed.why })
  }

  return (over, wake) => {
    let nextAt = Number.NEGATIVE_INFINITY
    // Until it has looked, there may be one to make.
    const job = {
      isBusy: every !== undefined,
      whenDue: async () => {
        if (every === undefined || over.aborted || performance.now() < nextAt) return
        const { last, failed } = await knownBackups(home.db)
        const dueMs = secondsToNext(every, last, failed) * 1_000
        nextAt = performance.now() + (dueMs > 0 ? Math.min(dueMs, LOOK_MS) : LOOK_MS)
        const wasBusy = job.isBusy
        job.isBusy = dueMs <= 0
        try {
          if (job.isBusy) await make(last, over)
        } finally {
          const isOver = wasBusy || job.isBusy
          job.isBusy = false
          if (isOver) wake()
        }
      },
    }
    return job
  }
}

/** Waits for the end of the process, and ends it when the lead is over. @returns how it ended, in words */
async function ended(child: ChildProcess, over: AbortSignal): Promise<string> {
  const exit = once(child, 'exit').then(
    ([code, signal]: (string | number | null)[]) => `its process ended with ${signal ?? `exit code ${code}`}`,
    (error: unknown) => messageOf(error),
  )
  if (child.pid !== undefined) goLast(child.pid)
  const exited = new AbortController()
  const stop = async () => {
    child.kill('SIGTERM')
    await sleep(LEAVE_MS, exited.signal)
    if (!exited.signal.aborted) child.kill('SIGKILL')
  }
  if (over.aborted) void stop()
  else over.addEventListener('abort', () => void stop(), { signal: exited.signal })
  const how = await exit
  exited.abort()
  return how
}

/** Whatever else wants the processor gets it first. */
function goLast(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW)
  } catch {
    // It has ended already.
  }
}
