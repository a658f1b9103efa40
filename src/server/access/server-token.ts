import { timingSafeEqual } from 'node:crypto'
import { hashOf } from './tokens.ts'

/** Is this `Authorization` header the token that programs have? @param token undefined: there is none */
export function isToken(header: string | undefined, token: string | undefined): boolean {
  const [, given] = /^Bearer +(\S+)$/i.exec(header ?? '') ?? []
  // Of hashes, which are equally long: how long it takes tells nothing.
  return token !== undefined && given !== undefined && timingSafeEqual(hashOf(given), hashOf(token))
}
