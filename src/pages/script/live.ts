import { dayOf, minuteOf } from '../page-row.ts'
import { find } from './dom.ts'
import { Stream } from './stream.ts'
import type { FromWorker, ToWorker } from './stream-messages.ts'

// A page that stays true: it hears what changed, asks for itself again, and swaps the parts that differ.

/** A page asks for itself once in this time, at most; the first time at once. */
const AGAIN_MS = 1_000

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
  /** When what is shown was made, by the server's clock. */
  #since: number
  #asked = Number.NEGATIVE_INFINITY
  #timer: number | undefined
  #isAsking = false
  #isAwake = false
  #way: { send(message: ToWorker): void } | undefined

  constructor(topics: readonly string[], since: number) {
    this.#topics = topics
    this.#since = since
  }

  wake(): void {
    if (this.#isAwake) return
    this.#isAwake = true
    this.#way ??= wayTo((message) => this.#hear(message))
    this.#way.send({ topics: this.#topics, since: this.#since })
  }

  sleep(): void {
    if (!this.#isAwake) return
    this.#isAwake = false
    this.#way?.send({ topics: [] })
  }

  #hear(message: FromWorker): void {
    if (!this.#isAwake) return
    if (message.event === 'change') {
      if (message.topics.some((topic) => this.#topics.includes(topic))) this.#soon()
    } else if (message.event === 'reload') {
      if (isEdited()) say('This page is of another database by now: load it again.')
      else location.reload()
    } else if (message.event === 'trouble') say('The database is away; this page is as of', this.#since)
    else if (message.event === 'well') unsay()
    else this.#soon() // The stream broke: whoever asks learns why.
  }

  /** Asks at once, or when it may again. */
  #soon(): void {
    if (this.#timer !== undefined || this.#isAsking) return
    const wait = Math.max(0, this.#asked + AGAIN_MS - performance.now())
    this.#timer = setTimeout(() => void this.#ask(), wait)
  }

  async #ask(): Promise<void> {
    this.#timer = undefined
    this.#asked = performance.now()
    this.#isAsking = true
    try {
      const answer = await fetch(location.href, { headers: { 'X-Live': '1' }, redirect: 'error' })
      if (answer.status === 401) return say('You are logged out: load this page again.')
      if (!answer.ok) return say('The server cannot answer; this page is as of', this.#since)
      const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html')
      this.#since = Number(fresh.body.dataset['now'])
      localise(fresh)
      swap(fresh)
      unsay()
    } catch {
      say('The server does not answer; this page is as of', this.#since)
    } finally {
      this.#isAsking = false
    }
  }
}

/** One stream a browser, by a worker that its tabs share; else one a tab. */
function wayTo(hear: (message: FromWorker) => void): { send(message: ToWorker): void } {
  const address = document.body.dataset['worker']
  if (typeof SharedWorker === 'undefined' || !address) {
    const stream = new Stream(hear)
    return { send: ({ topics, since }) => stream.listen(topics, since) }
  }
  const { port } = new SharedWorker(address)
  port.onmessage = ({ data }: MessageEvent<FromWorker>) => hear(data)
  return { send: (message) => port.postMessage(message) }
}

/** Swaps the live parts that differ; where somebody is, nothing moves. */
function swap(fresh: Document): void {
  for (const part of document.querySelectorAll('[data-live]')) {
    const next = part.id === '' ? null : fresh.getElementById(part.id)
    if (next) merge(part, next)
  }
}

/** Makes an element like another one: children with ids, and those that are the same, stay what they are. */
function merge(here: Element, next: Element): void {
  if (here.isEqualNode(next)) return
  const active = document.activeElement
  if (active && active !== document.body && here.contains(active) && /^(INPUT|SELECT|TEXTAREA)$/.test(active.tagName))
    return
  const isOpen = here instanceof HTMLDetailsElement && here.open
  for (const { name } of [...here.attributes]) if (!next.hasAttribute(name)) here.removeAttribute(name)
  for (const { name, value } of next.attributes) if (here.getAttribute(name) !== value) here.setAttribute(name, value)
  if (here instanceof HTMLDetailsElement) here.open = isOpen
  const known = new Map([...here.children].flatMap((child) => (child.id === '' ? [] : [[child.id, child] as const])))
  const wanted = [...next.childNodes].map((node, at) => {
    const same = node instanceof Element && node.id !== '' ? known.get(node.id) : here.childNodes[at]
    if (node instanceof Element && same instanceof Element && same.tagName === node.tagName && same.id === node.id) {
      merge(same, node)
      return same
    }
    return same?.isEqualNode(node) ? same : document.importNode(node, true)
  })
  for (const [at, node] of wanted.entries())
    if (here.childNodes[at] !== node) here.insertBefore(node, here.childNodes[at] ?? null)
  while (here.childNodes.length > wanted.length) here.lastChild?.remove()
}

/** Times are shown in the reader's own: as a day where that is what was written. */
export function localise(page: Document): void {
  for (const time of page.querySelectorAll('time')) {
    const [date, isDay] = [new Date(time.dateTime), time.textContent.length === 'YYYY-MM-DD'.length]
    time.textContent = isDay ? dayOf(date) : minuteOf(date)
  }
}

const isEdited = () => [...document.querySelectorAll('input')].some((input) => input.value !== input.defaultValue)

function say(text: string, at?: number): void {
  const note = find('#note')
  if (!note) return
  note.textContent = at === undefined ? text : `${text} ${minuteOf(new Date(at))}.`
  note.hidden = false
}

function unsay(): void {
  const note = find('#note')
  if (note) note.hidden = true
}
