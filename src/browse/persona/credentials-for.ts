import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Texts } from '../../base/config.ts'
import { text } from '../../base/env-settings.ts'
import { AppError } from '../../base/errors.ts'
import type { RequestContext } from '../request-context.ts'
import type { Credentials } from './credentials.ts'
import { DEFAULT_PERSONA } from './files.ts'

const NONE: Credentials = { cookies: [], headers: new Map(), origins: [] }

/**
 * Reads the cookies, headers and storage of the persona that visits the page (ACTIVE_PERSONA in PERSONAS_DIR), with the
 * cookies of COOKIES_FILE. Throws AppError for one that does not exist or cannot be read: a page without its logins is
 * not what was requested.
 */
export function credentialsFor({ env, visit }: Pick<RequestContext, 'env' | 'visit'>): Promise<Credentials> {
  if (!visit) return read(env)
  visit.credentials ??= read(env)
  return visit.credentials
}

async function read(env: Texts): Promise<Credentials> {
  const [personas, name] = [text(env, 'PERSONAS_DIR'), text(env, 'ACTIVE_PERSONA') ?? DEFAULT_PERSONA]
  const file = text(env, 'COOKIES_FILE')
  if (file !== undefined && !statSync(file, { throwIfNoEntry: false }))
    throw new AppError(`COOKIES_FILE not found: ${file}`)
  const isThere = personas !== undefined && statSync(join(personas, name), { throwIfNoEntry: false })
  if (personas !== undefined && !isThere && name !== DEFAULT_PERSONA)
    throw new AppError(`there is no persona ${name} here`)
  if (!isThere && file === undefined) return NONE
  const { cookiesIn, readPersona } = await import('./persona.ts')
  const persona = isThere ? await readPersona(personas, name) : undefined
  return { ...(persona ?? NONE), ...(file !== undefined && { cookies: cookiesIn(file) }) }
}
