import { keepDrawings } from './keep-drawings.ts'
import { keepStyles } from './keep-styles.ts'
import type { Scripts } from './scripts.ts'

/** For frames in frames in frames ...: deeper ones stay empty. The browser stops reporting at a much greater depth. */
const MAX_DEPTH = 20

/** Prevents other windows, which nobody sees, opens shadow roots for captures, and ends nested frames. */
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
