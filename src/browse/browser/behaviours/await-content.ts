/** The part of the time for which a page may show nothing. */
const SHARE = 0.6

/**
 * Waits for what a page's scripts are still making, where it shows nothing else: no text and no picture, the word
 * "loading", or a mark that it is busy. Its network may be quiet meanwhile.
 */
export const AWAIT_CONTENT = `async (until, pause) => {
  if (self !== top || document.scripts.length === 0) return
  const isShown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
  const shows = 'img, svg, canvas, video, audio, iframe, frame, object, embed, input, button, select, textarea'
  const isUnfinished = () => {
    const body = document.body
    if (!body) return true
    if ([...document.querySelectorAll('[aria-busy=true i]')].some(isShown)) return true
    const text = body.innerText?.trim() ?? ''
    if (text.length > 40 || !/^\\W*(loading|please wait)?\\W*$/i.test(text)) return false
    const all = [...body.querySelectorAll('*')]
    return !all.some((element) => element.shadowRoot || (element.matches(shows) && isShown(element)))
  }
  const last = performance.now() + (until - performance.now()) * ${SHARE}
  while (performance.now() < last && isUnfinished()) await pause(100)
}`
