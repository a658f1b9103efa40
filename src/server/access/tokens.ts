import { createHash } from 'node:crypto'
import { randomBytes } from '../../base/random.ts'

const BYTES = 32
/** Crockford's alphabet: no letter looks like a digit. */
const LETTERS = '0123456789abcdefghjkmnpqrstvwxyz'
const CODE_LETTERS = 25

/** The value of a cookie: 256 random bits. */
export function newToken(): string {
  return randomBytes(BYTES).toString('base64url')
}

/** Whether this could be one. */
export const isToken = (text: string): boolean => /^[\w-]{43}$/.test(text)

/** A code that a person can type: 125 random bits. */
export function newCode(): string {
  return [...randomBytes(CODE_LETTERS)].map((byte) => LETTERS[byte & 31]).join('')
}

/** A typed code in its canonical form. */
export function codeTyped(text: string): string {
  return text.toLowerCase().replace(/[\s-]/g, '').replaceAll('o', '0').replace(/[il]/g, '1')
}

/** The stored form of either. */
export function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
