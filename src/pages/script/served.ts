// The script of served pages. They work without it, but do not update.
import { find } from './dom.ts'
import { localise, startLive } from './live.ts'

document.addEventListener('DOMContentLoaded', () => {
  localise(document)
  takeCode()
  startLive()
})

/** A one-time link has its code behind the `#`, which no server sees: it is moved from the address into the form. */
function takeCode(): void {
  const field = find<HTMLInputElement>('#code')
  const code = location.hash.slice(1)
  if (!field || code === '') return
  history.replaceState(null, '', location.pathname)
  field.value = code
  field.form?.requestSubmit()
}
