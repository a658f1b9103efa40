import { duration, many, number } from '../../../base/words.ts'
import { type Html, html } from '../../../pages/html.ts'

const BARS = 48
const HOUR_MS = 3_600_000
/** The longest time that is shown. */
const MOST_MS = 24 * HOUR_MS

/**
 * How many pages ended in the last hours: as far back as the latest ones reach, for a day at most.
 * @param ends when they ended, the last one first
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
  const each = duration(span / BARS / 1_000)
  const all = `${many(recent.length, 'page')} in the last ${duration(span / 1_000)}`
  return bars('pace', counts, `${all}, at most ${number(Math.max(...counts))} in ${each}`)
}

/** How many pages waited during the last day. @param history of `QUEUE_PARTS` parts; null: nobody led then */
export function queue(history: readonly (number | null)[]): Html {
  const counts = history.map((open) => open ?? 0)
  const noted = history.filter((open) => open !== null)
  if (noted.length === 0) return html`<p class="dim" id="queue" data-live>There was no leader within a day.</p>`
  const most = Math.max(...counts)
  const span = `in the last ${duration(MOST_MS / 1_000)}`
  if (most === 0) return html`<p class="dim" id="queue" data-live>No page waited ${span}.</p>`
  return bars('queue', counts, `At most ${many(most, 'page')} waited ${span}, now ${number(noted.at(-1) ?? 0)}`)
}

/** How many parts the last `QUEUE_HOURS` hours are shown in. */
export const QUEUE_PARTS = BARS
export const QUEUE_HOURS = MOST_MS / HOUR_MS

function bars(id: string, counts: readonly number[], text: string): Html {
  const most = Math.max(...counts, 1)
  const all = counts.map((count, at) => {
    const height = (count / most) * 40
    return count === 0
      ? ''
      : html`<rect x="${at * 10}" y="${(40 - height).toFixed(1)}" width="8" height="${height.toFixed(1)}"/>`
  })
  return html`<figure class="pace" id="${id}" data-live>
<svg viewBox="0 0 ${BARS * 10} 40" preserveAspectRatio="none" role="img" aria-label="${text}">${all}</svg>
<figcaption class="dim">${text}</figcaption></figure>`
}
