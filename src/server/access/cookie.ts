import type { Names } from '../names.ts'

/** All values of our cookie in a `Cookie` header: another host may have set one of the same name. */
export function tokensIn(header: string | undefined, { cookie }: Pick<Names, 'cookie'>): string[] {
  if (header === undefined) return []
  return header.split(';').flatMap((part) => {
    const [name, value] = part.trim().split('=', 2)
    return name === cookie && value ? [value] : []
  })
}

/** A `Set-Cookie` header. Null: it goes. */
export function setCookie({ cookie, isSecure }: Names, token: string | null): string {
  const life = token === null ? 'Max-Age=0' : `Max-Age=${30 * 24 * 3_600}`
  return `${cookie}=${token ?? ''}; Path=/; HttpOnly; SameSite=Strict; ${life}${isSecure ? '; Secure' : ''}`
}
