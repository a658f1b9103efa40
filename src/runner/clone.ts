import { join } from 'node:path'
import { sleep } from '../base/abort.ts'
import { ID_FILE } from '../base/data-dir-id.ts'
import { AppError, EXIT, UsageError } from '../base/errors.ts'
import { FileLock } from '../base/file-lock.ts'
import { duration, shellWord } from '../base/words.ts'
import { BEAT_MS, settleHeartbeats, UNSEEN_SECONDS } from '../db/heartbeats.ts'
import type { Home } from '../db/home.ts'
import { machineById } from '../db/machines.ts'
import type { LiveRow } from '../db/processes.ts'
import { presenceOf } from '../processes/presence.ts'
import { healthyOrchestrator } from './ownership.ts'

const LOOK_MS = 250
/** A leader that has missed two heartbeats is dead, or about to be taken for it: the gate decides. */
const SILENT_SECONDS = (2.2 * BEAT_MS) / 1_000

/**
 * Throws UsageError in a clone of a data dir that is in use: a copied volume keeps id and inode. Its leader, which we
 * cannot see, goes on writing heartbeats, but nobody holds the lock that lies in ours. A leader that has just let go of
 * it, or is dead, is waited for, until a heartbeat comes, or none.
 */
export async function refuseClone(home: Home, signal: AbortSignal): Promise<void> {
  let first: LiveRow | undefined
  for (;;) {
    const leader = await healthyOrchestrator(home)
    if (!leader || (leader.heartbeat_age_s ?? 0) > SILENT_SECONDS) return
    if ((await presenceOf(home, leader)) !== 'unseen' || (await isLocked(home))) return
    if ((leader.heartbeat_age_s ?? 0) < -UNSEEN_SECONDS) {
      await settleHeartbeats(home.db)
      continue
    }
    if (first?.id !== leader.id) first = leader
    if (first.heartbeat_at! < leader.heartbeat_at!) throw await clone(home, leader)
    await sleep(LOOK_MS, signal)
    if (signal.aborted) throw new AppError('interrupted before it led', { exitCode: EXIT.interrupted })
  }
}

async function isLocked({ dataDir }: Home): Promise<boolean> {
  const lock = new FileLock(join(dataDir, '.runner.lock'))
  try {
    return !(await lock.tryExclusive())
  } finally {
    lock.release()
  }
}

async function clone({ db, dataDir, dataDirId }: Home, leader: LiveRow): Promise<UsageError> {
  const { hostname } = await machineById(db, leader.machine_id)
  const age = duration(leader.heartbeat_age_s ?? 0)
  return new UsageError(
    `${dataDir} is a clone: the data dir with its id ${dataDirId} leads on ${hostname} (heard of ${age} ago)`,
    `to make it a node of its own: rm ${shellWord(join(dataDir, ID_FILE))}; it may take pages over: node adopt`,
  )
}
