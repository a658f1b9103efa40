// A page as a line of the archive's index: its writer and the script that reads it share the fields defined here.

/** An outcome, and the letter that stands for it; '' is none. */
const LETTERS = { archived: 'a', partial: 'p', failed: 'f', '': '' } as const
const OUTCOMES: ReadonlyMap<string, Outcome> = new Map([
  ['a', 'archived'],
  ['p', 'partial'],
  ['f', 'failed'],
])
/** Separates tags, which do not contain it. */
const BETWEEN_TAGS = '\u001f'
/** How many fields are read for every page; the others are read when it is shown, or searched. */
const FIRST = 5

export type Outcome = Exclude<keyof typeof LETTERS, ''>

/** The fields of every page that filters use. */
export interface LineHead {
  readonly number: number
  /** When it was sealed, since 1970. */
  readonly seconds: number
  readonly outcome: Outcome | ''
  readonly crawl: string
  readonly tags: readonly string[]
}

/** The other fields, as text. */
export interface LineRest {
  /** Of HTTP; '': none. */
  readonly status: string
  readonly cause: string
  /** Of its folder, relative to the top of the archive. */
  readonly path: string
  /** Relative to its folder; '': none. */
  readonly icon: string
  readonly picture: string
  readonly size: number
  readonly url: string
  readonly title: string
  readonly text: string
  /** The name of the other node that has its files; '': they are here. */
  readonly node: string
}

/** Its texts contain no tab and no line break. */
export function writeLine(page: LineHead & LineRest): string {
  const { number, seconds, outcome, crawl, tags, status, cause, path, icon, picture, size, url, title, text, node } =
    page
  const head = [number, seconds.toString(36), LETTERS[outcome], crawl, tags.join(BETWEEN_TAGS)]
  return [...head, status, cause, path, icon, picture, size, url, title, text, ...(node === '' ? [] : [node])].join(
    '\t',
  )
}

export function headOf(line: string): LineHead {
  const [number, seconds = '', letter = '', crawl = '', tags = ''] = line.split('\t', FIRST)
  return {
    number: Number(number),
    seconds: Number.parseInt(seconds, 36),
    outcome: OUTCOMES.get(letter) ?? '',
    crawl,
    tags: tags === '' ? [] : tags.split(BETWEEN_TAGS),
  }
}

export function restOf(line: string): LineRest {
  const fields = line.split('\t').slice(FIRST)
  const [
    status = '',
    cause = '',
    path = '',
    icon = '',
    picture = '',
    size,
    url = '',
    title = '',
    text = '',
    node = '',
  ] = fields
  return { status, cause, path, icon, picture, size: Number(size), url, title, text, node }
}
