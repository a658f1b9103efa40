import { keepDrawings } from './keep-drawings.ts'
import { keepStyles } from './keep-styles.ts'
import type { Scripts } from './scripts.ts'

/** Frames in frames in frames ...: what is deeper stays empty. Of much deeper ones the browser itself says no more. */
const MAX_DEPTH = 20

/** Nobody looks at other windows, what a shadow root shows can be taken, and frames within frames come to an end. */
const beforeScripts: Scripts['before-scripts'] = () => {
  window.open = () => null
  keepDrawings()
  keepStyles()
  let depth = 0
  for (let frame: Window = window; frame !== top; frame = frame.parent) depth++
  if (depth > MAX_DEPTH) window.stop()
  const attach = Element.prototype.attachShadow
  Element.prototype.attachShadow = function attachShadow(options) {
    return attach.call(this, { ...options, mode: 'open' })
  }
}
export default beforeScripts
