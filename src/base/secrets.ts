import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SETTINGS, type SettingName, type Texts } from './config.ts'
import { codeOf, messageOf, UsageError } from './errors.ts'

/** The settings that are secret. */
const SECRETS = (Object.keys(SETTINGS) as SettingName[]).filter((name) => 'secret' in SETTINGS[name])

/**
 * Secrets from files, where the settings lack them: from the file that NAME_FILE names, and from the credential
 * `database-url` of a systemd unit, in $CREDENTIALS_DIRECTORY. Throws UsageError for a named file that cannot be read,
 * or is empty.
 * @param texts the settings as written, of one source
 */
export function secretsIn(texts: Texts): Texts {
  const credentials = texts['CREDENTIALS_DIRECTORY']
  const read = (name: string): string | undefined => {
    const file = texts[`${name}_FILE`]?.trim()
    if (file) return namedIn(file, `${name}_FILE`)
    return credentials ? contentOf(join(credentials, name.toLowerCase().replaceAll('_', '-'))) : undefined
  }
  return Object.fromEntries(
    SECRETS.flatMap((name) => {
      const secret = texts[name] === undefined ? read(name) : undefined
      return secret === undefined ? [] : [[name, secret]]
    }),
  )
}

function namedIn(file: string, name: string): string {
  let secret: string | undefined
  try {
    secret = readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new UsageError(
      `${name}: cannot read ${file}: ${messageOf(error)}`,
      'mend the path, or the rights of the file',
    )
  }
  if (secret === '') throw new UsageError(`${name}: ${file} is empty`, 'write the value into it')
  return secret
}

/** The content of a file, if it exists. */
function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim() || undefined
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw new UsageError(`cannot read ${file}: ${messageOf(error)}`)
  }
}

const KEPT_FROM_CHILDREN = new Set<string>([...SECRETS, 'PGPASSWORD', 'CREDENTIALS_DIRECTORY'])

/**
 * Our environment without secrets, for a long-lived process: every process of the same account can read the environment
 * that a process started with. The secrets that it needs, it gets through a pipe.
 */
export function withoutSecrets(env: Texts): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !KEPT_FROM_CHILDREN.has(name)))
}

/** A database URL with the password from PGPASSWORD, if it has none itself: our children get no PGPASSWORD. */
export function withPassword(url: string, password: string | undefined): string {
  if (!password || hasPassword(url)) return url
  return `${url}${url.includes('?') ? '&' : '?'}password=${encodeURIComponent(password)}`
}

/** Does a database URL hold a password? */
export const hasPassword = (url: string): boolean => /:\/\/[^:/@]*:[^@]+@|[?&]password=./.test(url)
