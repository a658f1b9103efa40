import { UsageError } from '../../base/errors.ts'
import { isExpired } from '../../browse/persona/cookie.ts'
import { personasIn } from '../../browse/persona/files.ts'
import { type Persona, readPersona } from '../../browse/persona/persona.ts'

/** A persona as users and programs see it: without the values of cookies and headers. */
export type PersonaRecord = ReturnType<typeof personaRecord>

/** @param active the persona of crawls that name none */
export function personaRecord({ name, files, settings, headers, cookies, origins }: Persona, active: string) {
  const domains = [...new Set(cookies.map(({ domain }) => domain))].sort()
  return {
    type: 'Persona',
    name,
    active: name === active,
    folder: files.folder,
    settings,
    headers: Object.fromEntries([...headers].map(([host, fields]) => [host, Object.keys(fields)])),
    cookies: cookies.length,
    expired: cookies.filter((cookie) => isExpired(cookie)).length,
    expires: nextExpiry(cookies),
    domains: domains.map((domain) => {
      const its = cookies.filter((cookie) => cookie.domain === domain)
      const expired = its.filter((cookie) => isExpired(cookie)).map((cookie) => cookie.name)
      return { domain, cookies: its.length, expired, expires: nextExpiry(its) }
    }),
    storage: origins.map(({ origin }) => origin),
  } as const
}

/** When the first of the valid cookies expires; null: none does. */
function nextExpiry(cookies: Persona['cookies']): Date | null {
  const times = cookies.flatMap((cookie) => (isExpired(cookie) ? [] : (cookie.expires ?? [])))
  return times.length === 0 ? null : new Date(Math.min(...times) * 1000)
}

/** A persona whose files cannot be read, and why. */
export interface BrokenPersona {
  readonly name: string
  readonly problem: string
}

/** All personas in `personas`. */
export async function allPersonas(personas: string): Promise<(Persona | BrokenPersona)[]> {
  return await Promise.all(
    personasIn(personas).map(async (name) => {
      try {
        return (await readPersona(personas, name))!
      } catch (error) {
        if (error instanceof UsageError) return { name, problem: error.message }
        throw error
      }
    }),
  )
}
