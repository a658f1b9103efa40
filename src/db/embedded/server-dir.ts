import { chmodSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { makeFolder } from '../../base/make-folder.ts'

/**
 * Where copies of programs and clusters go that cannot stay where they are: ARCHIVEBOX_SERVER_DIR, or a place fit for
 * our user.
 */
export function serverDir(): string {
  // No setting: it says where all data dirs of this machine share files, so archivebox.toml in one is no place for it.
  const chosen = process.env['ARCHIVEBOX_SERVER_DIR']
  if (chosen) return chosen
  return process.geteuid?.() === 0 ? '/var/lib/archivebox-ts' : join(homedir(), '.local', 'share', 'archivebox-ts')
}

/**
 * Makes `dir` and what is missing above it so that every user may enter, whatever our umask says; what exists stays as
 * it is.
 */
export function makeEnterable(dir: string): void {
  const first = makeFolder(dir)
  if (first === undefined) return
  for (let made = dir; made.length >= first.length; made = dirname(made)) chmodSync(made, 0o755)
}
