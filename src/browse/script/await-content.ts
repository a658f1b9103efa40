import { pause } from './pause.ts'
import { shownText } from './shown-text.ts'

/** The part of the time during which a page may show nothing. */
const SHARE = 0.6
const SHOWS = 'img, svg, canvas, video, audio, iframe, frame, object, embed, input, button, select, textarea'

/**
 * Waits while a page shows nothing but what its scripts will replace: no text and no picture, the word "loading", or a
 * busy indicator. Its network may be quiet meanwhile.
 */
export async function awaitContent(until: number): Promise<void> {
  if (self !== top || document.scripts.length === 0) return
  const last = performance.now() + (until - performance.now()) * SHARE
  while (performance.now() < last && isUnfinished()) await pause(100)
}

function isUnfinished(): boolean {
  const body = document.body as HTMLElement | null
  if (!body) return true
  if ([...document.querySelectorAll('[aria-busy=true i]')].some(isShown)) return true
  const text = shownText(body).trim()
  if (text.length > 40 || !/^\W*(loading|please wait)?\W*$/i.test(text)) return false
  const all = [...body.querySelectorAll('*')]
  return !all.some((element) => element.shadowRoot || (element.matches(SHOWS) && isShown(element)))
}

const isShown = (element: Element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
