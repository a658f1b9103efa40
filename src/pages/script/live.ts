import { dayOf, minuteOf } from '../page-row.ts'
import { find } from './dom.ts'
import { Stream } from './stream.ts'
import type { FromWorker, ToWorker } from './stream-messages.ts'

// A page that stays current: it hears what changed, requests itself again, and swaps the parts that differ.

/** The shortest time between two requests of a page; the first one is sent at once. */
const AGAIN_MS = 1_000
/** The time until the next request, if there was no answer. */
const RETRY_MS = 3_000
/** A page notes its time after it has read the database: the longest delay between the two. */
const MADE_WITHIN_MS = 5_000
/** How often a visible page reports itself: one in a browser's history, or a crashed one, does not. */
const SIGN_MS = 15_000

/** Starts to listen, if this page has anything that changes. */
export function startLive(): void {
  const { topics, now } = document.body.dataset
  const topicsHere = topics?.split(' ').filter(Boolean) ?? []
  if (topicsHere.length === 0) return
  const live = new Live(topicsHere, Number(now))
  const sync = () => (document.hidden ? live.sleep() : live.wake())
  document.addEventListener('visibilitychange', sync)
  addEventListener('pagehide', () => live.sleep())
  addEventListener('pageshow', ({ persisted }) => persisted && sync())
  sync()
}

class Live {
  readonly #topics: readonly string[]
  /** The time of what is shown, by the server's clock. */
  #since: number
  #asked = Number.NEGATIVE_INFINITY
  #timer: number | undefined
  #signs: number | undefined
  #isAsking = false
  /** Something changed during the request. */
  #isOld = false
  #isAwake = false
  #isOver = false
  #way: { send(message: ToWorker): void } | undefined

  constructor(topics: readonly string[], since: number) {
    this.#topics = topics
    this.#since = since
  }

  wake(): void {
    if (this.#isAwake || this.#isOver) return
    this.#isAwake = true
    const isBack = this.#way !== undefined
    this.#way ??= wayTo((message) => this.#hear(message))
    this.#way.send({ topics: this.#topics, since: this.#since - MADE_WITHIN_MS })
    this.#signs = setInterval(() => this.#way?.send({ topics: this.#topics }), SIGN_MS)
    if (isBack) this.#soon()
  }

  sleep(): void {
    if (!this.#isAwake) return
    this.#isAwake = false
    clearTimeout(this.#timer)
    clearInterval(this.#signs)
    this.#timer = undefined
    this.#way?.send({ topics: [] })
  }

  #hear(message: FromWorker): void {
    if (!this.#isAwake) return
    if (message.event === 'change') {
      if (message.topics.some((topic) => this.#topics.includes(topic))) this.#soon()
    } else if (message.event === 'reload') this.#reload('The database is another one now: reload this page.')
    else if (message.event === 'trouble') say('The database is unavailable; this page is as of', this.#since)
    else this.#soon() // It is back; or the stream broke: the request will tell why.
  }

  /** Requests it at once, or as soon as allowed. */
  #soon(afterMs = AGAIN_MS): void {
    this.#isOld = true
    if (this.#isAsking || !this.#isAwake) return
    clearTimeout(this.#timer)
    const wait = Math.max(0, this.#asked + afterMs - performance.now())
    this.#timer = setTimeout(() => void this.#ask(), wait)
  }

  async #ask(): Promise<void> {
    this.#timer = undefined
    this.#asked = performance.now()
    this.#isAsking = true
    this.#isOld = false
    const isAnswered = await this.#refresh().catch(() => {
      say('The server does not answer; this page is as of', this.#since)
      return false
    })
    this.#isAsking = false
    if (!isAnswered) this.#soon(RETRY_MS)
    else if (this.#isOld) this.#soon()
  }

  /** @returns whether there was a valid answer. Throws when there was none */
  async #refresh(): Promise<boolean> {
    const answer = await fetch(location.href, { headers: { 'X-Live': '1' }, redirect: 'error' })
    if (answer.status === 401) {
      this.sleep()
      this.#isOver = true
      say('You are logged out: load this page again.')
      return true
    }
    if (answer.status >= 500) {
      say('The server cannot answer; this page is as of', this.#since)
      return false
    }
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html')
    const { now } = fresh.body.dataset
    if (now === undefined) {
      say('What this page shows is not here any more.')
      return true
    }
    this.#since = Number(now)
    localise(fresh)
    unsay()
    if (partsOf(fresh) === partsOf(document)) swap(fresh)
    else this.#reload('There is more on this page by now: load it again.')
    return true
  }

  /** Loads the page anew, but never while somebody types into it. */
  #reload(otherwise: string): void {
    if (isEdited()) say(otherwise)
    else location.reload()
  }
}

/** One stream per browser, by a worker that its tabs share; otherwise one per tab. */
function wayTo(hear: (message: FromWorker) => void): { send(message: ToWorker): void } {
  let own: Stream | undefined
  let last: ToWorker = { topics: [] }
  let port: MessagePort | undefined
  const send = (message: ToWorker) => {
    last = message
    if (own) own.listen(message.topics, message.since)
    else port?.postMessage(message)
  }
  const alone = () => {
    own ??= new Stream(hear)
    send(last)
  }
  const address = document.body.dataset['worker']
  try {
    if (typeof SharedWorker === 'undefined' || !address) throw new Error('no worker')
    const worker = new SharedWorker(address)
    // Not allowed here, or from another version of the program.
    worker.onerror = alone
    port = worker.port
    port.onmessage = ({ data }: MessageEvent<FromWorker>) => hear(data)
  } catch {
    alone()
  }
  return { send }
}

/** Which parts of a page are live. */
const partsOf = (page: Document) => [...page.querySelectorAll('[data-live]')].map(({ id }) => id).join(' ')

/** Swaps the live parts that differ; does not move the one that is in use. */
function swap(fresh: Document): void {
  for (const part of document.querySelectorAll('[data-live]')) {
    const next = part.id === '' ? null : fresh.getElementById(part.id)
    if (next?.tagName === part.tagName) merge(part, next)
    else if (next) part.replaceWith(document.importNode(next, true))
  }
}

/** Makes an element like another one: equal and corresponding children stay the same nodes. */
function merge(here: Element, next: Element): void {
  if (here.isEqualNode(next)) return
  const typedInto = fieldInUse()
  if (typedInto && here.contains(typedInto)) return
  const isOpen = here instanceof HTMLDetailsElement && here.open
  for (const { name } of [...here.attributes]) if (!next.hasAttribute(name)) here.removeAttribute(name)
  for (const { name, value } of next.attributes) if (here.getAttribute(name) !== value) here.setAttribute(name, value)
  if (here instanceof HTMLDetailsElement) here.open = isOpen
  const known = Map.groupBy(here.children, nameOf)
  const wanted = [...next.childNodes].map((node, at) => {
    const same = node instanceof Element ? known.get(nameOf(node))?.shift() : here.childNodes[at]
    if (node instanceof Element && same instanceof Element) {
      merge(same, node)
      return same
    }
    return same?.isEqualNode(node) ? same : document.importNode(node, true)
  })
  // Removes first, so that the rest need not move: a focused link would lose the focus.
  const stays = new Set(wanted)
  for (const node of [...here.childNodes]) if (!stays.has(node)) node.remove()
  for (const [at, node] of wanted.entries())
    if (here.childNodes[at] !== node) here.insertBefore(node, here.childNodes[at] ?? null)
}

/** What tells a child from its neighbours: its id; for a row, its first link. */
function nameOf(child: Element): string {
  const { id, tagName } = child
  if (id !== '' || !['LI', 'TR'].includes(tagName)) return `${tagName}#${id}`
  return `${tagName} ${child.querySelector('a[href]')?.getAttribute('href') ?? ''}`
}

/** Shows times in the reader's own time zone: as a day if one was written. */
export function localise(page: Document): void {
  for (const time of page.querySelectorAll('time')) {
    const [date, isDay] = [new Date(time.dateTime), time.textContent.length === 'YYYY-MM-DD'.length]
    time.textContent = isDay ? dayOf(date) : minuteOf(date)
  }
}

/** The field in use. */
const fieldInUse = () => find('input:focus, select:focus, textarea:focus')

const isEdited = () =>
  fieldInUse() !== null || [...document.querySelectorAll('input')].some((input) => input.value !== input.defaultValue)

/** Writes it only once: screen readers would repeat it. */
function say(text: string, at?: number): void {
  const note = find('#note')
  const words = at === undefined ? text : `${text} ${minuteOf(new Date(at))}.`
  if (!note || (!note.hidden && note.textContent === words)) return
  note.textContent = words
  note.hidden = false
}

function unsay(): void {
  const note = find('#note')
  if (note) note.hidden = true
}
