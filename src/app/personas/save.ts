import { replaceFile } from '../../base/replace-file.ts'
import type { Cookie } from '../../browse/persona/cookie.ts'
import { formatCookiesTxt } from '../../browse/persona/cookies-txt.ts'
import type { Persona } from '../../browse/persona/persona.ts'
import { mergedStorage, type OriginStorage } from '../../browse/persona/storage.ts'

/** Writes a persona's cookies, and the storage of these origins; that of other known origins stays. */
export function saveLogins(
  { files, origins }: Pick<Persona, 'files' | 'origins'>,
  cookies: readonly Cookie[],
  storage: readonly OriginStorage[],
): void {
  replaceFile(files.cookies, formatCookiesTxt(cookies))
  if (storage.length === 0) return
  replaceFile(files.storage, `${JSON.stringify({ origins: mergedStorage(origins, storage) }, null, 2)}\n`)
}
