import { duration, many, number } from '../../../base/words.ts'
import { type Html, html } from '../../../pages/html.ts'

const BARS = 48
const HOUR_MS = 3_600_000
/** The longest time that is shown. */
const MOST_MS = 24 * HOUR_MS

/**
 * How many pages ended, over the last hours: as far back as the latest ones reach, for a day at most.
 * @param ends when they did, the last one first
 */
export function pace(ends: readonly Date[], now = Date.now()): Html {
  const recent = ends.map((at) => now - at.getTime()).filter((age) => age < MOST_MS)
  if (recent.length === 0) return html`<p class="dim" id="pace" data-live>None within a day.</p>`
  const isAll = recent.length < ends.length || recent.length < 1_000
  const span = isAll
    ? Math.min(MOST_MS, Math.max(HOUR_MS, (recent.at(-1) ?? 0) * 1.02))
    : Math.max(1, recent.at(-1) ?? 1)
  const counts = Array.from({ length: BARS }, () => 0)
  for (const age of recent) {
    const bar = BARS - 1 - Math.min(BARS - 1, Math.max(0, Math.floor((age / span) * BARS)))
    counts[bar] = (counts[bar] ?? 0) + 1
  }
  const most = Math.max(...counts)
  const bars = counts.map((count, at) => {
    const height = (count / most) * 40
    return count === 0
      ? ''
      : html`<rect x="${at * 10}" y="${(40 - height).toFixed(1)}" width="8" height="${height.toFixed(1)}"/>`
  })
  const each = duration(span / BARS / 1_000)
  const all = `${many(recent.length, 'page')} in the last ${duration(span / 1_000)}`
  const text = `${all}, at most ${number(most)} in ${each}`
  return html`<figure class="pace" id="pace" data-live>
<svg viewBox="0 0 ${BARS * 10} 40" preserveAspectRatio="none" role="img" aria-label="${text}">${bars}</svg>
<figcaption class="dim">${text}</figcaption></figure>`
}
