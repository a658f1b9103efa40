import { chmodSync, mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A new folder that the server's unprivileged user can also enter, symlinks resolved. */
export function newFolder(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'abx-test-')))
  chmodSync(dir, 0o755)
  return dir
}
