import { createHash } from 'node:crypto'
import { randomBytes } from '../../base/random.ts'

const BYTES = 32
/** Crockford's: no letter is taken for a digit. */
const LETTERS = '0123456789abcdefghjkmnpqrstvwxyz'
const CODE_LETTERS = 25

/** What a cookie says: 256 random bits. */
export function newToken(): string {
  return randomBytes(BYTES).toString('base64url')
}

/** Could this be one? */
export const isToken = (text: string): boolean => /^[\w-]{43}$/.test(text)

/** What a person may type: 125 random bits. */
export function newCode(): string {
  return [...randomBytes(CODE_LETTERS)].map((byte) => LETTERS[byte & 31]).join('')
}

/** A code as it was typed, as it was meant. */
export function codeTyped(text: string): string {
  return text.toLowerCase().replace(/[\s-]/g, '').replaceAll('o', '0').replace(/[il]/g, '1')
}

/** What is kept of either. */
export function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
