import { keepHash, need } from './dom.ts'
import type { Entry } from './entry.ts'

/** The filters of the list. */
export interface Filters {
  /** In lower case. */
  readonly terms: readonly string[]
  readonly outcome: string
  readonly host: string
  readonly tag: string
  readonly cause: string
  /** Seconds. */
  readonly from: number
  readonly to: number
  /** As a grid. */
  readonly thumbs: boolean
}

/** Filters whose values are offered. */
export type Choice = 'host' | 'tag' | 'cause'

/** The form above the list. */
export class Controls {
  readonly form = need<HTMLFormElement>('#controls')
  readonly search = need<HTMLInputElement>('[name=q]', this.form)

  select(name: Choice): HTMLSelectElement {
    return need<HTMLSelectElement>(`select[name=${name}]`, this.form)
  }

  get filters(): Filters {
    const given = new FormData(this.form)
    const text = (name: string) => String(given.get(name) ?? '')
    const seconds = (name: string, time: string, none: number) =>
      text(name) === '' ? none : new Date(`${text(name)}T${time}`).getTime() / 1000
    return {
      terms: text('q').toLowerCase().split(/\s+/).filter(Boolean),
      outcome: text('outcome'),
      host: text('host'),
      tag: text('tag'),
      cause: text('cause'),
      from: seconds('from', '00:00', Number.NEGATIVE_INFINITY),
      to: seconds('to', '23:59:59', Number.POSITIVE_INFINITY),
      thumbs: given.has('thumbs'),
    }
  }

  /** Writes the filters to the address. */
  keep(): void {
    const asked = new URLSearchParams()
    for (const [name, value] of new FormData(this.form)) if (value !== '') asked.set(name, String(value))
    keepHash(String(asked))
  }

  /** Reads the filters from the address. */
  restore(): void {
    const asked = new URLSearchParams(location.hash.slice(1))
    for (const control of this.form.elements) {
      const value = 'name' in control && control.name !== '' ? asked.get(String(control.name)) : null
      if (value === null) continue
      if (control instanceof HTMLSelectElement) control.append(new Option(value, value, true, true))
      else if (!(control instanceof HTMLInputElement)) continue
      else if (control.type === 'radio') control.checked = control.value === value
      else if (control.type === 'checkbox') control.checked = true
      else control.value = value
    }
  }
}

/** Whether there are filters besides words and an outcome. */
export const isNarrowed = ({ host, tag, cause, from, to }: Filters): boolean =>
  host + tag + cause !== '' || from !== Number.NEGATIVE_INFINITY || to !== Number.POSITIVE_INFINITY

/** The filters besides the words: while they stay the same, more letters find less. */
export const besideWords = ({ host, tag, cause, from, to }: Filters): string =>
  JSON.stringify([host, tag, cause, String(from), String(to)])

/** Whether a page matches, outcome aside. */
export function matches(entry: Entry, { terms, host, tag, cause, from, to }: Filters): boolean {
  if (entry.seconds < from || entry.seconds > to) return false
  if (host !== '' && entry.host !== host) return false
  if (tag !== '' && !entry.tags.includes(tag)) return false
  if (cause !== '' && entry.cause !== cause) return false
  for (const term of terms) if (!entry.words.includes(term)) return false
  return true
}
