import { askingAsHooks, type PluginRecord, pluginRecord } from '../../../app/plugins/plugin-record.ts'
import { crawlSettings } from '../../../hooks/crawl-settings.ts'
import { foreign, html } from '../../../pages/html.ts'
import type { App } from '../../visit.ts'
import type { Web } from '../../web.ts'
import { board } from '../frame.ts'
import { OnceInAWhile } from './once-in-a-while.ts'
import { table } from './table.ts'

/** The plugins that are here: what they make, need and lack. */
export function routePlugins(app: App, web: Web): void {
  // This starts programs to ask for their versions.
  const records = new OnceInAWhile(async () => {
    const { dataDir } = web.archive.home
    const { settings } = await web.settingsNow()
    const { plugins, texts } = crawlSettings(dataDir, settings)
    const asking = await askingAsHooks(dataDir, settings, texts)
    const all = await Promise.all(plugins.map((plugin) => pluginRecord(plugin, plugins, texts, asking)))
    return all.sort((a, b) => (a.name < b.name ? -1 : 1))
  })
  app.get('/plugins', async (c) => {
    const { value } = await records.get()
    const lacking = value.filter(({ enabled, lacks }) => enabled && lacks.length > 0)
    const body = html`<h1>Plugins</h1>
${
  lacking.length > 0
    ? html`<p class="cause partial"><b>${lacking.length} lack something:</b> <code>archivebox-ts plugin install</code>
installs what it can.</p>`
    : ''
}
${table({
  ...{ caption: 'Plugins', none: 'There is no plugin.', rows: value.map(row) },
  heads: ['Plugin', 'On', 'Makes', 'Hooks', 'Needs', 'Lacks'],
})}`
    return c.html(board('/plugins', 'Plugins', body))
  })
}

function row({ name, enabled, description, hooks, needs, lacks }: PluginRecord) {
  return {
    kind: enabled ? '' : 'off',
    cells: [
      foreign(name),
      enabled ? 'yes' : 'no',
      foreign(description),
      html`${hooks.map((hook) => html`<div>${foreign(hook.name)}${hook.background ? ' (background)' : ''}</div>`)}`,
      foreign([...needs.plugins, ...needs.programs.map((program) => program.name)].join(', ')),
      lacks.length === 0 ? '' : html`<span class="badge partial">${lacks.length}</span> ${foreign(lacks.join('; '))}`,
    ],
  }
}
