import { realpathSync, statSync } from 'node:fs'
import { sleep } from '../../base/abort.ts'
import { AppError } from '../../base/errors.ts'
import { serverAccount } from './account.ts'
import { removeShortWay } from './address.ts'
import { findBinaries } from './binaries.ts'
import type { Cluster } from './cluster.ts'
import { isAlive, readPostmaster } from './postmaster.ts'
import { runProgram } from './run.ts'

const STOP_MS = 30_000
/**
 * A server that is only recovering is lost after this time: within seconds it kills what does not react, and others
 * wait for that meanwhile.
 */
const DOOMED_MS = 1_000
const POLL_MS = 3

/**
 * Stops the running server and returns when it is gone: `fast` disconnects clients and writes everything to disk;
 * `immediate` is for one that only recovers, which starts over the next time. The caller holds the start lock and has
 * decided that nobody needs it. Throws AppError when it does not stop.
 */
export async function shutDown(cluster: Cluster, mode: 'fast' | 'immediate'): Promise<void> {
  const stopped = readPostmaster(cluster.pgdata)
  const account = serverAccount(statSync(cluster.pgdata))
  const binaries = findBinaries(account)
  const { code, output } = await runProgram(
    binaries.pgCtl,
    ['stop', '-W', '-s', '-m', mode, '-D', realpathSync(cluster.pgdata)],
    account,
    ['ignore', 'ignore', 'pipe'],
  )
  const deadline = performance.now() + STOP_MS
  const doomed = performance.now() + DOOMED_MS
  // Its pid file disappears before it does. (As a zombie it may stay behind where nobody reaps orphans.)
  for (;;) {
    const postmaster = readPostmaster(cluster.pgdata) ?? stopped
    if (!isAlive(postmaster, cluster.pgdata)) break
    if (mode === 'immediate' && performance.now() > doomed) break
    if (performance.now() > deadline) {
      throw new AppError(
        `PostgreSQL (pid ${postmaster.pid}) did not stop within ${STOP_MS / 1000} s` +
          (code === 0 ? '' : `: ${output.trim()}`),
        {
          hint: `Its log is ${cluster.log}`,
        },
      )
    }
    await sleep(POLL_MS)
  }
  removeShortWay(cluster.pgdata)
}
