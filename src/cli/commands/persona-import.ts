import { readFileSync } from 'node:fs'
import { importCookies } from '../../app/personas/import-cookies.ts'
import { oneLine } from '../../base/clean.ts'
import { codeOf, messageOf, UsageError } from '../../base/errors.ts'
import { many } from '../format.ts'
import { sayMeanwhile } from '../meanwhile.ts'
import { personasOf } from '../persona/find.ts'
import type { Asked } from '../settings.ts'
import { terminal } from '../terminal.ts'

/** `persona import NAME FILE`: imports cookies, which replace existing ones of the same name. */
export async function personaImport(asked: Asked, name: string, file: string): Promise<void> {
  const { personas } = personasOf(asked)
  const input = { name, text: textOf(file), from: file === '-' ? 'stdin' : file }
  const { cookies, expired } = await importCookies(personas, input, { tell: sayMeanwhile })
  const hosts = [...new Set(cookies.map(({ domain }) => domain))]
  const more = hosts.length > 3 ? ` and ${hosts.length - 3} more` : ''
  const named = oneLine(hosts.slice(0, 3).join(', '))
  terminal.say(`${name}: imported ${many(cookies.length, 'cookie')} for ${named}${more}`)
  if (expired.length > 0)
    terminal.say(
      `${many(expired.length, 'cookie')} had already expired: ${oneLine(names(expired))}; log in there and export anew`,
    )
}

const names = (cookies: readonly { readonly name: string; readonly domain: string }[]) =>
  cookies
    .slice(0, 3)
    .map(({ name, domain }) => `${name} (${domain})`)
    .join(', ') + (cookies.length > 3 ? ', ...' : '')

function textOf(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') throw new UsageError(`no such file: ${file}`)
    throw new UsageError(`cannot read ${file}: ${messageOf(error)}`)
  }
}
