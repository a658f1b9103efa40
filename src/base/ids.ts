import { randomBytes } from './random.ts'

/** The beginning of the last id: its millisecond, and 12 bits that count within it. */
let last = { ms: 0, count: 0 }

/**
 * A UUIDv7 (RFC 9562 section 5.7): 48 bits of Unix milliseconds, 12 that count, then random bits. Each is larger than
 * those that this process made before, so that the pages of a list keep their order. Made here, because PostgreSQL
 * before 18 has none.
 * @param at another time than now, which does not count
 */
export function uuidv7(at?: number): string {
  const bytes = randomBytes(16)
  const { ms, count } = at === undefined ? next(Date.now()) : { ms: at, count: bytes.readUInt16BE(6) }
  bytes.writeUIntBE(ms, 0, 6)
  bytes.writeUInt16BE((count & 0x0fff) | 0x7000, 6)
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** The count starts low and at random: other processes count, too. When it is full, the next millisecond is used. */
function next(now: number): typeof last {
  if (now > last.ms) last = { ms: now, count: randomBytes(2).readUInt16BE() & 0x07ff }
  else last = last.count < 0x0fff ? { ms: last.ms, count: last.count + 1 } : { ms: last.ms + 1, count: 0 }
  return last
}

/** The smallest id of a millisecond: every UUIDv7 made from then on is larger, every earlier one smaller. */
export function firstIdOf(moment: Date): string {
  const hex = moment.getTime().toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}

/** When an id was made. */
export function madeAt(id: string): Date {
  return new Date(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16))
}

/** Whether this text is a complete id. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
}
