import type { Cookie } from '../../base/persona/cookie.ts'
import { formatCookiesTxt } from '../../base/persona/cookies-txt.ts'
import type { Persona } from '../../base/persona/persona.ts'
import { mergedStorage, type OriginStorage } from '../../base/persona/storage.ts'
import { replaceFile } from '../../base/replace-file.ts'

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
