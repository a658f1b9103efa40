// The one script of the pages that a server sends. Without it they work, and stand still.
import { find } from './dom.ts'
import { localise, startLive } from './live.ts'

document.addEventListener('DOMContentLoaded', () => {
  localise(document)
  takeCode()
  startLive()
})

/** A one-time link has its code behind the `#`, which no server sees: it goes into the form, and out of the address. */
function takeCode(): void {
  const field = find<HTMLInputElement>('#code')
  const code = location.hash.slice(1)
  if (!field || code === '') return
  history.replaceState(null, '', location.pathname)
  field.value = code
  field.form?.requestSubmit()
}
