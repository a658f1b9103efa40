import type { Configured } from '../../../app/archive.ts'
import { type SettingRecord, settingRecords } from '../../../app/settings/setting-record.ts'
import type { UsageError } from '../../../base/errors.ts'
import { foreign, html } from '../../../pages/html.ts'
import type { App } from '../../visit.ts'
import type { Web } from '../../web.ts'
import { board } from '../frame.ts'
import { table } from './table.ts'

/** All settings: their values, their sources, and their defaults; secrets are masked. */
export function routeSettings(app: App, { settingsNow }: Web): void {
  app.get('/settings', async (c) => {
    const configured = await settingsNow()
    const isAll = c.req.query('all') !== undefined
    const records = settingRecords(configured)
    const set = records.filter(({ source }) => source !== 'default')
    const shown = isAll ? records : set
    const body = html`<h1>Settings</h1>
${configured.problems.all.map(problem)}
<p class="dim">As a program that starts now reads them; running ones keep those of their start.
<code>archivebox-ts config set KEY=VALUE</code> changes them in archivebox.toml.</p>
<nav class="tabs" aria-label="Which settings"><a href="/settings"${isAll ? '' : html` aria-current="page"`}>Set
<b>${set.length}</b></a> <a href="/settings?all"${isAll ? html` aria-current="page"` : ''}>All
<b>${records.length}</b></a></nav>
${table({
  ...{
    caption: 'Settings',
    none: 'All settings have their defaults.',
    rows: shown.map((each) => row(each, configured)),
  },
  heads: ['Setting', 'Value', 'From', 'Default', 'Means'],
})}`
    return c.html(board('/settings', 'Settings', body))
  })
}

function problem({ message, hint }: UsageError) {
  return html`<p class="cause failed">${foreign(message)}${hint && html` <small>${foreign(hint)}</small>`}</p>\n`
}

function row(record: SettingRecord, { known }: Configured) {
  const about = known.all.get(record.key)
  const standard = about?.standardIs?.replaceAll('`', '') ?? about?.fallback ?? shown(record.default)
  return {
    cells: [
      html`<code>${record.key}</code>`,
      foreign(record.value === null ? standard : shown(record.value)),
      record.source,
      foreign(standard),
      foreign(about?.means.replaceAll('`', '') ?? ''),
    ],
  }
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
