import { timingSafeEqual } from 'node:crypto'
import { hashOf } from './tokens.ts'

/** Whether this `Authorization` header has the token of programs. @param token undefined: there is none */
export function isToken(header: string | undefined, token: string | undefined): boolean {
  const [, given] = /^Bearer +(\S+)$/i.exec(header ?? '') ?? []
  // Compares hashes, which are equally long: the time that it takes tells nothing.
  return token !== undefined && given !== undefined && timingSafeEqual(hashOf(given), hashOf(token))
}
