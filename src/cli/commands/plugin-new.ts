import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pluginRecord, QUICKLY } from '../../app/plugins/plugin-record.ts'
import { messageOf, UsageError } from '../../base/errors.ts'
import { asset } from '../../base/package-root.ts'
import { findPlugins, pluginTrees } from '../../hooks/discover.ts'
import type { Asked } from '../settings.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'
import { here } from './plugin.ts'

/** The languages of hooks, and what runs a test in each. */
const LANGUAGES = { sh: 'sh', js: 'node --test', py: 'python3' } as const

/** `plugin new NAME`: creates a folder in DATA_DIR/plugins with a working hook, its config.json, and a test. */
export async function pluginNew(asked: Asked, name: string, { lang }: { lang: keyof typeof LANGUAGES }): Promise<void> {
  const { dataDir, plugins, texts } = here(asked)
  if (!/^[a-z][a-z0-9_]*$/.test(name))
    throw new UsageError(`the name of a plugin has only lowercase letters, digits and _, unlike "${name}"`)
  const there = plugins.find((plugin) => plugin.name === name)
  if (there) throw new UsageError(`a plugin ${name} exists already: ${there.folder}`, 'choose another name')
  const folder = join(dataDir, 'plugins', name)
  const hook = `on_Snapshot__60_${name}.${lang}`
  const template = (file: string) =>
    readFileSync(join(asset('plugin-template', 'cli/plugin-template'), file), 'utf8')
      .replaceAll('NAME', name)
      .replaceAll('PREFIX', name.toUpperCase())
      .replaceAll('HOOK', hook)
  mkdirSync(folder, { recursive: true })
  try {
    writeFileSync(join(folder, 'config.json'), template('config.json'), { flag: 'wx' })
    writeFileSync(join(folder, `test.${lang}`), template(`test.${lang}`), { flag: 'wx' })
    writeFileSync(join(folder, hook), template(`hook.${lang}`), { flag: 'wx', mode: 0o755 })
  } catch (error) {
    throw new UsageError(`cannot write ${folder}: ${messageOf(error)}`)
  }
  const all = findPlugins(pluginTrees(dataDir, texts))
  const made = all.find((plugin) => plugin.name === name)!
  if (wantsJson(asked)) printRecord(await pluginRecord(made, all, texts, QUICKLY))
  terminal.say(`created ${join(folder, hook)}`)
  terminal.say(`its test: ${LANGUAGES[lang]} ${join(folder, `test.${lang}`)}`)
  terminal.say(`on a page: archivebox-ts plugin run ${name} https://example.com`)
}
