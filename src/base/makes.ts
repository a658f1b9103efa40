import { own } from './own.ts'

/** Where a result is shown on the page of a snapshot. */
export const GROUPS = ['page', 'picture', 'text', 'media', 'data'] as const
export type Group = (typeof GROUPS)[number]

/**
 * What a plugin makes, as far as others need to know: `makes` in its config.json. All fields are optional: a plugin
 * without it makes a copy, which is shown by the kind of its main file.
 */
export interface Makes {
  /** Where it is shown. */
  readonly group?: Group
  /** The lowest rank shows a page best, and comes first. */
  readonly rank?: number
  /** It is a copy of the content of a page; otherwise it describes or prepares one. */
  readonly isCopy: boolean
  /** It records what came over the network, even if that is nothing. */
  readonly isRecord: boolean
  /** It fetches its content itself: the HTTP status of the page does not apply. */
  readonly fetchesItself: boolean
  /** It does little but request the page: when it times out, others will, too. */
  readonly asksOnly: boolean
  /** Its HTML loads nothing from anywhere, and its first bytes tell so. */
  readonly isClosed: boolean
  /** Its pictures show the page, or are the icon of its site. */
  readonly picture: boolean
  readonly icon: boolean
  /** It is the file itself, for a URL that is a file. */
  readonly file: boolean
  /** It is the visit of a page by a browser, which others take their captures from. */
  readonly browser: boolean
  /** Its most important file. */
  readonly mainFile?: string
  /** The files with the text of the page and with its title: plain text, in UTF-8. */
  readonly text?: string
  /** The file with all text of the page, menus included, for a WARC and a WACZ: they take `text` without it. */
  readonly allText?: string
  readonly title?: string
  /** The JSON file whose `status` is the HTTP status of the page. */
  readonly httpStatus?: string
  /** The JSON file with the SHA-256 of all that plugins have published: `files`, each with `path`, `size`, `sha256`. */
  readonly hashes?: string
}

/** What a plugin without `makes` makes. */
export const MAKES_A_COPY: Makes = {
  ...{ isCopy: true, isRecord: false, fetchesItself: false, asksOnly: false, isClosed: false },
  ...{ picture: false, icon: false, file: false, browser: false },
}

const SWITCHES = ['isCopy', 'isRecord', 'fetchesItself', 'asksOnly', 'isClosed', 'picture', 'icon', 'file', 'browser']
const FILES = ['mainFile', 'text', 'allText', 'title', 'httpStatus', 'hashes']

/** A file in the folder of its plugin, not a path elsewhere. */
const isFileName = (value: unknown): value is string => typeof value === 'string' && /^\w[\w.-]{0,99}$/.test(value)

/** Reads `makes` of a plugin, or of its stored row. Invalid values count as missing. */
export function makesIn(said: unknown): Makes {
  const given = isTable(said) ? said : {}
  const { group, rank } = given
  const switches = SWITCHES.flatMap((name) => {
    const value = own(given, name)
    return typeof value === 'boolean' ? [[name, value] as const] : []
  })
  const files = FILES.flatMap((name) => {
    const value = own(given, name)
    return isFileName(value) ? [[name, value] as const] : []
  })
  return {
    ...MAKES_A_COPY,
    ...Object.fromEntries([...switches, ...files]),
    ...(isGroup(group) && { group }),
    ...(isRank(rank) && { rank }),
  }
}

/** What is wrong with `makes` of a plugin, in one line; undefined: nothing. */
export function whyNotMakes(said: unknown): string | undefined {
  if (said === undefined) return undefined
  if (!isTable(said)) return 'makes is a table: {"group": "text"}'
  for (const [name, value] of Object.entries(said)) {
    if (name === 'group' && !isGroup(value)) return `makes.group must be one of ${GROUPS.join(', ')}`
    if (name === 'rank' && !isRank(value)) return 'makes.rank is a whole number from 1'
    if (SWITCHES.includes(name) && typeof value !== 'boolean') return `makes.${name} must be true or false`
    if (FILES.includes(name) && !isFileName(value)) return `makes.${name} must be the name of a file in its folder`
    if (!['group', 'rank', ...SWITCHES, ...FILES].includes(name)) return `makes has no field ${name}`
  }
  return undefined
}

const isTable = (said: unknown): said is Record<string, unknown> =>
  typeof said === 'object' && said !== null && !Array.isArray(said)
const isGroup = (value: unknown): value is Group => (GROUPS as readonly unknown[]).includes(value)
const isRank = (value: unknown): value is number => Number.isInteger(value) && (value as number) > 0

/** ArchiveBox's names for plugins that find more pages, or search. */
const BY_NAME = /^(?:parse|search)_/
const MAKES_NO_COPY: Makes = { ...MAKES_A_COPY, isCopy: false }

/** What each plugin makes. */
export class Meanings {
  readonly #makes: ReadonlyMap<string, Makes>

  constructor(makes: Iterable<readonly [plugin: string, makes: Makes]>) {
    this.#makes = new Map([...makes].sort(([a, x], [b, y]) => rankOf(x) - rankOf(y) || (a < b ? -1 : 1)))
  }

  /** Reads what plugins declare, as JSON: `makes` by plugin. */
  static in(text: string): Meanings {
    return new Meanings(Object.entries(JSON.parse(text) as object).map(([plugin, said]) => [plugin, makesIn(said)]))
  }

  /** What this plugin makes. */
  of(plugin: string): Makes {
    return this.#makes.get(plugin) ?? (BY_NAME.test(plugin) ? MAKES_NO_COPY : MAKES_A_COPY)
  }

  /** The plugins whose `makes` meets this condition, the best first. */
  those(isLike: (makes: Makes) => boolean): readonly string[] {
    return [...this.#makes].flatMap(([plugin, makes]) => (isLike(makes) ? [plugin] : []))
  }

  /** The plugins that have this field, the best first. */
  with<Key extends keyof Makes>(key: Key): readonly (readonly [plugin: string, value: NonNullable<Makes[Key]>])[] {
    return [...this.#makes].flatMap(([plugin, makes]) => {
      const value = makes[key]
      return value ? [[plugin, value as NonNullable<Makes[Key]>] as const] : []
    })
  }
}

const rankOf = ({ rank }: Makes) => rank ?? Number.MAX_SAFE_INTEGER
