import { lstatSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { PORT } from './address.ts'
import { clusterOf } from './cluster.ts'
import { isAlive, readPostmaster } from './postmaster.ts'

/**
 * For a data directory that was just found to be a copy, before anybody starts a server in it: removes traces of the
 * original's server. That one is alive, and PostgreSQL would not start next to it.
 * @returns whether the original's server ran while it was copied: then the copy may be damaged
 */
export function forgetOriginalServer(dataDir: string): boolean {
  const { pgdata, keepMark } = clusterOf(dataDir)
  const isOwn = lstatSync(pgdata, { throwIfNoEntry: false })?.isDirectory() // Otherwise a link was copied.
  const postmaster = isOwn ? readPostmaster(pgdata) : null
  if (!postmaster || isAlive(postmaster, pgdata)) return false
  rmSync(keepMark, { force: true })
  for (const name of ['postmaster.pid', `.s.PGSQL.${PORT}`, `.s.PGSQL.${PORT}.lock`])
    rmSync(join(pgdata, name), { force: true })
  return true
}
