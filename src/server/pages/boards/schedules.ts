import { isUuid } from '../../../base/ids.ts'
import { many } from '../../../base/words.ts'
import { scheduleRecord } from '../../../db/records.ts'
import { countSchedules, type ListedSchedule, schedulesBelow } from '../../../db/schedules.ts'
import { foreign, html } from '../../../pages/html.ts'
import { time } from '../../../pages/layout.ts'
import type { App } from '../../visit.ts'
import type { Web } from '../../web.ts'
import { board } from '../frame.ts'
import { table } from './table.ts'

/** How many rows one part has. */
const AT_ONCE = 100

/** The schedules. */
export function routeSchedules(app: App, { archive }: Web): void {
  app.get('/schedules', async (c) => {
    const { db } = archive.home
    const asked = c.req.query('below')
    const below = asked !== undefined && isUuid(asked) ? asked : undefined
    const [found, count] = [await schedulesBelow(db, { below, limit: AT_ONCE + 1 }), await countSchedules(db)]
    // The row that this part began after is gone.
    if (found === undefined) return c.redirect('/schedules', 302)
    const rows = found.slice(0, AT_ONCE)
    const next = found.length > rows.length ? rows.at(-1) : undefined
    const none = html`None yet: <code>archivebox-ts schedule add --every day URL</code> creates one.`
    const body = html`<h1>Schedules</h1>
<p class="dim" id="count" data-live>${count > 1 ? `${many(count, 'schedule')}, the one that is due next first` : ''}</p>
${table({
  ...{ caption: 'Schedules', id: 'schedules', isLive: true, none, rows: rows.map(row) },
  heads: ['What', 'How often', 'Next', 'Status', 'Last crawl'],
})}
<nav class="pager" id="pager" data-live aria-label="Parts of the list">${
      below ? html`<a class="button" href="/schedules">⇤ First</a>\n` : ''
    }${next ? html`<a class="button" rel="next" href="/schedules?below=${next.id}">Later →</a>` : ''}</nav>`
    return c.html(board('/schedules', 'Schedules', body, 'archive processes'))
  })
}

function row(schedule: ListedSchedule) {
  const { urls, label, every, timezone, status, next_at: next, message } = scheduleRecord(schedule)
  const last = schedule.last_crawl_id
  return {
    kind: status,
    cells: [
      html`${foreign(label || (urls[0] ?? ''))}${urls.length > 1 ? ` and ${many(urls.length - 1, 'more URL')}` : ''}`,
      `${every} (${timezone})`,
      status === 'active' && next ? time(next) : '',
      html`${status}${message && html`: ${foreign(message)}`}`,
      last ? html`<a href="/crawls/${last}">see it</a>` : '',
    ],
  }
}
