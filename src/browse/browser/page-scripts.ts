import { AWAIT_CONTENT } from './behaviours/await-content.ts'
import { EXPAND } from './behaviours/expand.ts'
import { LOAD_FONTS } from './behaviours/load-fonts.ts'
import { LOAD_LATE } from './behaviours/load-late.ts'
import { SCROLL } from './behaviours/scroll.ts'
import { CLOSED_ROOTS } from './closed-roots.ts'
import { KEEP_DRAWINGS } from './keep-drawings.ts'
import { KEEP_STYLES } from './keep-styles.ts'
import { READER } from './reader.ts'

/** Shows and loads all of a page, in at most `ms` milliseconds. @param presses buttons that say "more", and the like */
export const SETTLE = (ms: number, presses: boolean) => `(async () => {
  const until = performance.now() + ${Math.round(ms)}
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
  await (${AWAIT_CONTENT})(until, pause)
  await (${EXPAND})(until, pause, ${presses})
  await (${SCROLL})(until, pause)
  await (${LOAD_LATE})(until, pause)
  await (${LOAD_FONTS})(until, pause)
})()`

/** The document as it is now, with its shadow roots as declarative ones, and closed ones that are in CLOSED_ROOTS. */
export const SERIALIZE = `(() => {
  ${READER}
  const [root, doctype] = ['documentElement', 'doctype'].map((name) => reader(Document, name)(document))
  const rootOf = reader(Element, 'shadowRoot')
  const shadowRoots = []
  const collect = (elements) => {
    for (const element of elements) {
      const inner = rootOf(element) ?? ${CLOSED_ROOTS}?.get(element)
      if (inner) shadowRoots.push(inner), collect(inner.querySelectorAll('*'))
    }
  }
  collect(Document.prototype.querySelectorAll.call(document, '*'))
  const start = root.cloneNode(false).outerHTML.replace(/<\\/[^<]*$/, '')
  const inside = root.getHTML ? root.getHTML({ shadowRoots }) : root.innerHTML
  return (doctype ? new XMLSerializer().serializeToString(doctype) + '\\n' : '') + start + inside + '</html>\\n'
})()`

/** Frames in frames in frames ...: what is deeper stays empty. Of much deeper ones the browser itself says no more. */
const MAX_DEPTH = 20

/**
 * Before any script of a page: nobody looks at other windows, what a shadow root shows can be taken, and frames within
 * frames come to an end.
 */
export const BEFORE_SCRIPTS = `window.open = () => null
${KEEP_DRAWINGS}
${KEEP_STYLES}
{
  let depth = 0
  for (let frame = window; frame !== top; frame = frame.parent) depth++
  if (depth > ${MAX_DEPTH}) window.stop()
}
{
  const attach = Element.prototype.attachShadow
  Element.prototype.attachShadow = function attachShadow(options) {
    return attach.call(this, { ...options, mode: 'open' })
  }
}`
