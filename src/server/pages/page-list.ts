import { cursorOf, placeOf } from '../../app/records/cursors.ts'
import { filtersOf } from '../../app/records/filters.ts'
import { UsageError } from '../../base/errors.ts'
import { madeAt } from '../../base/ids.ts'
import { many, number } from '../../base/words.ts'
import type { Home } from '../../db/home.ts'
import { eachListed } from '../../db/lists/each-listed.ts'
import { type Filters, type ListedSnapshot, SNAPSHOTS } from '../../db/lists/listings.ts'
import { meaningsIn } from '../../db/meanings.ts'
import { foreign, type Html, html } from '../../pages/html.ts'
import { time } from '../../pages/layout.ts'
import { type ListedEntry, listedEntries } from '../../pages/listed-entries.ts'
import { pageCard, pageRow } from '../../pages/page-row.ts'
import { written } from '../../pages/written.ts'
import type { Session } from '../access/sessions.ts'
import type { Web } from '../web.ts'
import { type AskedList, type Field, filterWords, KINDS } from './asked.ts'
import { servedLinks } from './place.ts'

/** How many rows, or cards, one part of a list has. */
const AT_ONCE = 40
/** No index covers a part of a title: this many of the newest pages are searched, which takes less than a second. */
const LOOKED_AT = 50_000

/** A part of a list of pages. */
export interface PartOfList {
  readonly rows: readonly ListedSnapshot[]
  readonly entries: readonly ListedEntry[]
  /** Where the next part begins; undefined: this is the last. */
  readonly next: string | undefined
  /** Pages before this one were not searched. */
  readonly reach: string | undefined
  /** What is wrong with the input. */
  readonly problem: UsageError | undefined
}

/** The pages that an address asks for, newest first. @param within limits that it cannot exceed */
export async function readPart(home: Home, asked: AskedList, within: Partial<Filters> = {}): Promise<PartOfList> {
  try {
    const words = filterWords(asked, await meaningsIn(home.db))
    const filters = { ...(await filtersOf(SNAPSHOTS, words, nameOf)(home)), ...within }
    const found: ListedSnapshot[] = []
    const last = asked.below === undefined ? {} : { last: placeOf(asked.below) }
    const look = words.text === undefined ? {} : { look: LOOKED_AT }
    const reach = await eachListed(home.db, SNAPSHOTS, { filters, limit: AT_ONCE + 1, ...last, ...look }, (some) => {
      found.push(...some)
      return true
    })
    const rows = found.slice(0, AT_ONCE)
    const next = found.length > AT_ONCE ? cursorOf(rows.at(-1)!) : reach
    return { rows, entries: await listedEntries(home, rows), next, reach, problem: undefined }
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    return { rows: [], entries: [], next: undefined, reach: undefined, problem: error }
  }
}

/** The fields of the form, as errors name them. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['after', 'From'],
  ['before', 'To'],
  ['made', 'Kind'],
  ['tag', 'Tag'],
])
const nameOf = (filter: string) => NAMES.get(filter) ?? filter

/** How many pages have each outcome; `open`: not yet begun. */
export type Tally = Readonly<Record<'archived' | 'partial' | 'failed' | 'open', number>>

const OUTCOMES = [
  ['archived', 'Archived'],
  ['partial', 'Partial'],
  ['failed', 'Failed'],
  ['open', 'Waiting'],
] as const
/** Those of them that the words of the form name. */
const LABELS = [
  ['q', 'Title or URL'],
  ['kind', 'Kind'],
  ['tag', 'Tag'],
  ['host', 'Host'],
  ['crawl', 'Crawl'],
  ['url', 'URL'],
  ['from', 'From'],
  ['to', 'To'],
] as const satisfies readonly (readonly [Field, string])[]

/**
 * A list of pages with its filters, which are links and a form that work without a script.
 * @param tally of all pages that the list may have
 */
export function listOfPages(web: Web, session: Session, asked: AskedList, part: PartOfList, tally: Tally): Html {
  const { typed, isGrid, below } = asked
  const links = servedLinks(web, session)
  const terms = typed.q === undefined ? [] : [typed.q.toLowerCase()]
  const draw = isGrid ? pageCard : pageRow
  const isTop = below === undefined
  return html`${controls(asked, tally)}
<div id="pages"${isTop ? html` data-live` : ''}>
${part.problem ? problem(part.problem) : found(asked, part)}
${
  part.entries.length === 0
    ? ''
    : html`<ol class="list plain${isGrid ? ' thumbs' : ''}" aria-label="Pages, newest first">
${part.entries.map((entry) => html`${written(draw({ ...entry, links, terms, isServed: true }))}\n`)}</ol>`
}
${pager(asked, part)}
</div>`
}

function controls(asked: AskedList, tally: Tally): Html {
  const { typed, isGrid } = asked
  const isNarrowed = Object.keys(typed).some((name) => name !== 'outcome')
  const tab = (name: string, value: string | undefined, count: number | undefined) =>
    html`<a class="${value}" href="${asked.to({ outcome: value })}"${
      typed.outcome === value ? html` aria-current="true"` : ''
    }>${name}${count === undefined || isNarrowed ? '' : html` <b>${number(count)}</b>`}</a>
`
  const outcomes = OUTCOMES.map(([word, name]) => tab(name, word, tally[word]))
  const view = (name: string, value: string | undefined, isHere: boolean) =>
    html`<a href="${asked.to({ view: value })}"${isHere ? html` aria-current="true"` : ''}>${name}</a>`
  const label = (name: Field) => LABELS.find(([field]) => field === name)?.[1]
  const field = (name: Exclude<Field, 'q' | 'outcome' | 'kind'>, type = 'text', hint = '') =>
    html`<label><span>${label(name)}</span><input type="${type}" name="${name}" value="${typed[name]}"${
      hint && html` placeholder="${hint}"`
    } autocomplete="off" autocapitalize="none" spellcheck="false"></label>
`
  const kind = ([value, { name }]: readonly [string, { readonly name: string }]) =>
    html`<option value="${value}"${typed.kind === value ? html` selected` : ''}>${name}</option>`
  const isOpen = LABELS.some(([name]) => name !== 'q' && typed[name] !== undefined)
  return html`<form class="controls plain" role="search" action="${asked.to({}).split('?', 1)[0]}">
${typed.outcome && html`<input type="hidden" name="outcome" value="${typed.outcome}">`}
${isGrid ? html`<input type="hidden" name="view" value="grid">` : ''}
<div class="ask"><label class="search"><span class="hidden">A part of the title or the URL</span>
<input type="search" name="q" value="${typed.q}" placeholder="A part of the title or the URL" autocomplete="off"
spellcheck="false"></label><button type="submit">Search</button></div>
<details class="filters"${isOpen ? html` open` : ''}><summary>Filters</summary><div>
${field('tag')}${field('host', 'text', 'example.com')}<label><span>Kind</span><select name="kind">
<option value="">any</option>${[...KINDS].map(kind)}</select></label>
${field('url', 'text', 'a part of it')}${field('crawl', 'text', 'its id')}${field('from', 'date')}${field(
  'to',
  'date',
)}<button type="submit">Apply</button></div></details>
</form>
<div class="choices"><nav class="tabs" id="outcomes"${isNarrowed ? '' : html` data-live`} aria-label="Outcome">
${tab('Latest', undefined, undefined)}${outcomes}</nav>
<nav class="tabs view" aria-label="View">${view('List', undefined, !isGrid)}
${view('Grid', 'grid', isGrid)}</nav></div>
${asWords(asked)}`
}

/** The active filters, each with a link that removes it. */
function asWords(asked: AskedList): Html {
  const { typed } = asked
  const words = LABELS.flatMap(([name, label]) => {
    const value = typed[name]
    if (value === undefined) return []
    const shown = name === 'kind' ? (KINDS.get(value)?.name ?? value) : value
    return [
      html`<a class="chip" href="${asked.to({ [name]: undefined })}" aria-label="Without ${label} ${shown}">
${label}: ${foreign(shown)} <span aria-hidden="true">×</span></a>\n`,
    ]
  })
  return words.length === 0 ? html`` : html`<p class="narrowed">${words}</p>`
}

function problem({ message, hint }: UsageError): Html {
  return html`<p class="cause failed" role="alert">${foreign(message)}
${hint && html`<small>${foreign(hint)}</small>`}</p>`
}

/** Describes which part of the list this is. */
function found({ below, typed, to }: AskedList, { rows, next, reach }: PartOfList): Html {
  const looked =
    reach === undefined
      ? ''
      : html` The newest ${number(LOOKED_AT)} ${
          below === undefined ? '' : 'of the others '
        }were looked at, back to ${time(madeAt(reach))}.
<a href="${to({ q: undefined, url: typed.q })}">Look for it in all URLs</a>`
  const [first, last] = [rows[0], rows.at(-1)]
  if (!first || !last)
    return html`<p class="found" role="status">${
      Object.keys(typed).length === 0 && below === undefined ? 'No page is finished yet.' : 'No page matches.'
    }${looked}</p>`
  const span =
    below === undefined && next === undefined ? '' : html`, added ${time(madeAt(last.id))} to ${time(madeAt(first.id))}`
  const which = below === undefined && next !== undefined ? 'The newest ' : ''
  return html`<p class="found" role="status">${which}${many(rows.length, 'page')}${span}.${looked}</p>`
}

/** Links to newer and older parts. Every part costs the same, however far back. */
function pager(asked: AskedList, { next, reach, rows }: PartOfList): Html {
  const { below, trail } = asked
  if (below === undefined && next === undefined) return html``
  const before = trail.at(-1)
  const newer =
    before === undefined
      ? ''
      : html`<a class="button" rel="prev" href="${asked.to({ below: before, trail: trail.slice(0, -1).join(' ') })}">
← Newer</a>`
  const older = next && asked.to({ below: next, trail: [...trail, ...(below === undefined ? [] : [below])].join(' ') })
  const word = reach !== undefined && rows.length < AT_ONCE ? 'Look further' : 'Older'
  return html`<nav class="pager" aria-label="Parts of the list">
${below === undefined ? '' : html`<a class="button" href="${asked.to({})}">⇤ Newest</a>`}
${newer}
${older && html`<a class="button" rel="next" href="${older}">${word} →</a>`}
</nav>`
}
