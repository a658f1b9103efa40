import { delimiter, isAbsolute } from 'node:path'
import { isZone } from './zone-time.ts'

/** How the text of a setting is read. */
export interface Kind<T> {
  /** What it accepts, in words: "a number of seconds". */
  readonly takes: string
  /** All accepted texts in their preferred spelling, if there are only a few. */
  readonly words?: readonly string[]
  /** The value; undefined for a text that it does not accept. */
  read(text: string): T | undefined
}

/** Yes or no, in every spelling that ArchiveBox accepts; empty means no. */
export const flag: Kind<boolean> = {
  takes: 'true or false',
  words: ['true', 'false'],
  read: (text) => FLAGS.get(text.trim().toLowerCase()),
}
const FLAGS = new Map([
  ...['true', '1', 'yes', 'on'].map((word) => [word, true] as const),
  ...['false', '0', 'no', 'off', ''].map((word) => [word, false] as const),
])

/** Any text that is not blank. */
export const text: Kind<string> = { takes: 'text', read: (given) => given.trim() || undefined }

/** Text that a request can have in a header. */
export const headerText: Kind<string> = {
  takes: 'text in Latin letters, without line breaks',
  read: (given) => (/^[\x20-\x7e\xa0-\xff]+$/.test(given.trim()) ? given.trim() : undefined),
}

/** The URL of a PostgreSQL server, as libpq writes it: a socket may stand for the host. */
export const databaseUrl: Kind<string> = {
  takes: 'a URL such as postgres://user:password@host:5432/database',
  read: (given) => (/^postgres(ql)?:\/\/./.test(given.trim()) ? given.trim() : undefined),
}

/** The path of a file or folder. PostgreSQL's own files cannot hold one with control characters. */
export const path: Kind<string> = {
  takes: 'a path without control characters',
  read: (given) => (/\p{Cc}/u.test(given) ? undefined : given.trim() || undefined),
}

/** The path of a file from the root on: the same wherever the program is started. */
export const absolutePath: Kind<string> = {
  takes: 'a path that begins with /',
  read: (given) => (isAbsolute(given.trim()) ? path.read(given) : undefined),
}

/** The name of a persona, and of its folder. */
export const personaName: Kind<string> = {
  takes: 'a name of letters, digits, spaces, . _ and -',
  read: (given) => (isName(given.trim()) ? given.trim() : undefined),
}
// V8 compiles a pattern for all letters in half a millisecond, and every start of a command would wait for it.
const isName = (given: string) =>
  /^[0-9A-Za-z][0-9A-Za-z ._-]{0,63}$/.test(given) || /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,63}$/u.test(given)

/** A time zone, by its name. */
export const timeZone: Kind<string> = {
  takes: 'the name of a time zone, such as Europe/Berlin or UTC',
  read: (given) => (isZone(given.trim()) ? given.trim() : undefined),
}

/** A token that grants access: it cannot be guessed, and fits into a header. */
export const tokenText: Kind<string> = {
  takes: '16 characters or more, without blanks',
  read: (given) => (/^[!-~]{16,1024}$/.test(given.trim()) ? given.trim() : undefined),
}

/** An origin: scheme, host and port of a URL, and nothing else. */
export const origin: Kind<URL> = {
  takes: 'a URL with only scheme, host and port, such as https://archive.example.org',
  read: (given) => originIn(given.trim()),
}
/** The same, or a host with `*.` for any name below it. */
export const origins: Kind<URL> = {
  takes: 'a URL such as https://*.copies.example.org or https://copies.example.org',
  read: (given) => originIn(given.trim(), /^(?:\*\.)?[^*]+$/),
}

function originIn(text: string, host = /^[^*]+$/): URL | undefined {
  const url = URL.parse(text)
  const isOrigin = url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.protocol}//${url.host}/`
  return isOrigin && host.test(url.host) ? url : undefined
}

/** Several paths, separated as in PATH. */
export const paths: Kind<readonly string[]> = {
  takes: `paths, separated by ${delimiter}`,
  read: (given) => given.split(delimiter).filter(Boolean),
}

/** A number from 0 on, of a divisible unit: seconds, MB. */
export function amount(unit: string, high = Number.POSITIVE_INFINITY): Kind<number> {
  return {
    ...number(0, high),
    takes: `a number of ${unit}${high === Number.POSITIVE_INFINITY ? ', 0 or more' : range(0, high)}`,
  }
}

/** A time span, in seconds: `hour`, `day` and `week`, or `90m`, `12h`, `7d`, `2w`. */
export const span: Kind<number> = {
  takes: 'hour, day, week, or a time such as 90m, 12h, 7d or 2w',
  read: (given) => {
    const words = given.trim().toLowerCase()
    const [, count, unit] = /^(\d{1,4})([mhdw])$/.exec(words) ?? SPANS.get(words) ?? []
    return unit === undefined || Number(count) === 0 ? undefined : Number(count) * UNIT_SECONDS.get(unit)!
  },
}
const SPANS: ReadonlyMap<string, readonly string[]> = new Map([
  ['hour', ['hour', '1', 'h']],
  ['day', ['day', '1', 'd']],
  ['week', ['week', '1', 'w']],
])
const UNIT_SECONDS: ReadonlyMap<string, number> = new Map([
  ['m', 60],
  ['h', 3_600],
  ['d', 86_400],
  ['w', 604_800],
])

/** A whole number. */
export function whole(low = Number.NEGATIVE_INFINITY, high = Number.POSITIVE_INFINITY): Kind<number> {
  const takes = `a whole number${range(low, high)}`
  return { takes, read: (given) => (/^[+-]?\d+$/.test(given.trim()) ? within(Number(given), low, high) : undefined) }
}

/** Any number. */
export function number(low = Number.NEGATIVE_INFINITY, high = Number.POSITIVE_INFINITY): Kind<number> {
  const takes = `a number${range(low, high)}`
  return { takes, read: (given) => (given.trim() === '' ? undefined : within(Number(given), low, high)) }
}

/** One of these words, in any case of letters. */
export function oneOf<const Word extends string>(...words: readonly Word[]): Kind<Word> {
  const plain = (word: string) => word.trim().toLowerCase()
  return {
    takes: `one of ${words.join(', ')}`,
    words,
    read: (given) => words.find((word) => plain(word) === plain(given)),
  }
}

const UNITS: ReadonlyMap<string, number> = new Map(Object.entries({ '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 }))

/** Bytes, also written `50mb` or `1.5g` (1024-based). */
export const size: Kind<number> = {
  takes: 'a size in bytes, or with a unit such as 50mb',
  read: (given) => {
    const match = /^(\d+(?:\.\d+)?)\s*([kmg]?)i?b?$/i.exec(given.trim())
    return match ? within(Math.floor(Number(match[1]) * UNITS.get(match[2]!.toLowerCase())!), 0) : undefined
  },
}

/** A list: JSON of strings, numbers and flags, or words separated by commas. */
export const list: Kind<readonly string[]> = {
  takes: 'a JSON array of words, or words separated by commas',
  read: (given) => {
    const trimmed = given.trim()
    if (!trimmed.startsWith('[')) return trimmed.split(',').flatMap((item) => item.trim() || [])
    try {
      const items = JSON.parse(trimmed) as unknown[]
      return items.every((item) => WORDS.has(typeof item)) ? items.map(String) : undefined
    } catch {
      return undefined
    }
  },
}
const WORDS: ReadonlySet<string> = new Set(['string', 'number', 'boolean'])

function within(value: number, low: number, high = Number.POSITIVE_INFINITY): number | undefined {
  return Number.isFinite(value) && value >= low && value <= high ? value : undefined
}

function range(low: number, high: number): string {
  return `${Number.isFinite(low) ? ` from ${low}` : ''}${Number.isFinite(high) ? ` to ${high}` : ''}`
}
