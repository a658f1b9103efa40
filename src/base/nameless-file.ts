import { mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** An open file in TMPDIR without a name, so that nothing stays behind however this process ends. */
export function namelessFile(): number {
  const folder = mkdtempSync(join(tmpdir(), 'archivebox-ts-file-'))
  try {
    return openSync(join(folder, 'file'), 'w+', 0o600)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
