/**
 * Scrolls down screen by screen and back to the top, so that pictures that load late do, then waits for them and for
 * fonts. For at most `ms` milliseconds and fifty screens: some pages never end.
 */
export const SETTLE = (ms: number) => `(async () => {
  const until = performance.now() + ${Math.round(ms)}
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
  const root = document.scrollingElement
  for (let screen = 1; root && screen < 50 && performance.now() < until; screen++) {
    if (screen * innerHeight >= root.scrollHeight) break
    scrollTo({ top: screen * innerHeight, behavior: 'instant' })
    await pause(50)
  }
  for (const image of document.images) if (image.loading === 'lazy') image.loading = 'eager'
  scrollTo({ top: 0, behavior: 'instant' })
  const pictures = [...document.images].filter((image) => !image.complete)
  const loaded = pictures.map((image) => new Promise((resolve) => (image.onload = image.onerror = resolve)))
  await Promise.race([Promise.all([...loaded, document.fonts.ready]), pause(Math.max(0, until - performance.now()))])
})()`

/** The document as it is now, with its open shadow roots as declarative ones. */
export const SERIALIZE = `(() => {
  const root = document.documentElement
  const shadowRoots = []
  const collect = (node) => {
    for (const element of node.querySelectorAll('*'))
      if (element.shadowRoot) shadowRoots.push(element.shadowRoot), collect(element.shadowRoot)
  }
  collect(document)
  const { doctype } = document
  const start = root.cloneNode(false).outerHTML.replace(/<\\/[^<]*$/, '')
  const inside = root.getHTML ? root.getHTML({ shadowRoots }) : root.innerHTML
  return (doctype ? new XMLSerializer().serializeToString(doctype) + '\\n' : '') + start + inside + '</html>\\n'
})()`

/** Before any script of a page: nobody looks at other windows, and what a shadow root shows can be taken. */
export const BEFORE_SCRIPTS = `window.open = () => null
{
  const attach = Element.prototype.attachShadow
  Element.prototype.attachShadow = function attachShadow(options) {
    return attach.call(this, { ...options, mode: 'open' })
  }
}`
