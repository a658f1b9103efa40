import { many, number } from '../../../base/words.ts'
import { scheduleRecord } from '../../../db/records.ts'
import { type ListedSchedule, listSchedules } from '../../../db/schedules.ts'
import { foreign, html } from '../../../pages/html.ts'
import { time } from '../../../pages/layout.ts'
import type { App } from '../../visit.ts'
import type { Web } from '../../web.ts'
import { board } from '../frame.ts'
import { table } from './table.ts'

const MOST = 500

/** Crawls that come again. */
export function routeSchedules(app: App, { archive }: Web): void {
  app.get('/schedules', async (c) => {
    const all = await listSchedules(archive.home.db)
    const none = html`None yet: <code>archivebox-ts schedule add --every day URL</code> makes one.`
    const body = html`<h1>Schedules</h1>
${table({
  ...{ caption: 'Schedules', id: 'schedules', isLive: true, none, rows: all.slice(0, MOST).map(row) },
  heads: ['What', 'How often', 'Next', 'Status', 'Last crawl'],
})}
${
  all.length > MOST
    ? html`<p class="dim">${number(MOST)} of ${many(all.length, 'schedule')};
<code>archivebox-ts schedule list</code> has all.</p>`
    : ''
}`
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
