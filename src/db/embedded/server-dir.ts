import { chmodSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { makeFolder } from '../../base/make-folder.ts'

/**
 * The folder for copies of programs and clusters that cannot stay where they are: ARCHIVEBOX_SERVER_DIR, or a suitable
 * place for our user.
 */
export function serverDir(): string {
  // Not a setting: it is shared by all data dirs of this machine, so it does not belong into archivebox.toml of one.
  const chosen = process.env['ARCHIVEBOX_SERVER_DIR']
  if (chosen) return chosen
  return process.geteuid?.() === 0 ? '/var/lib/archivebox-ts' : join(homedir(), '.local', 'share', 'archivebox-ts')
}

/**
 * Creates `dir` and its missing parents so that every user may enter, whatever our umask; existing ones stay as they
 * are.
 */
export function makeEnterable(dir: string): void {
  const first = makeFolder(dir)
  if (first === undefined) return
  for (let made = dir; made.length >= first.length; made = dirname(made)) chmodSync(made, 0o755)
}
