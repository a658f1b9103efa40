// The one script of the pages that a server sends. Without it they work, and stand still.
import { dayOf, minuteOf } from '../page-row.ts'
import { find } from './dom.ts'

document.addEventListener('DOMContentLoaded', () => {
  for (const time of document.querySelectorAll('time')) {
    const [date, isDay] = [new Date(time.dateTime), time.textContent.length === 'YYYY-MM-DD'.length]
    time.textContent = isDay ? dayOf(date) : minuteOf(date)
  }
  takeCode()
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
