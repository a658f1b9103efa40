import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestHome } from './homes.ts'

/** Adds a plugin with one hook to the data dir: `script` is a bash script, or the whole file if it has a shebang. */
export function plugin(home: TestHome, name: string, script: string): void {
  hook(home, name, `40_${name}.sh`, script)
}

/** Adds another hook to a plugin: `order` is the part of its file name after `on_Snapshot__`. */
export function hook(home: TestHome, name: string, order: string, script: string): void {
  write(home, name, `on_Snapshot__${order}`, script)
}

/** The same for a hook that runs once for the whole crawl. */
export function setUpHook(home: TestHome, name: string, order: string, script: string): void {
  write(home, name, `on_CrawlSetup__${order}`, script)
}

/** Declares in a plugin's config.json which other plugins it requires. */
export function requiring(home: TestHome, name: string, ...plugins: string[]): void {
  writeFileSync(join(home.dataDir, 'plugins', name, 'config.json'), JSON.stringify({ required_plugins: plugins }))
}

/** Adds a plugin whose hook runs until `letGo`. */
export function holdingPlugin(home: TestHome, name: string): { letGo(): void } {
  const file = join(home.dataDir, `${name}.hold`)
  writeFileSync(file, '')
  plugin(home, name, `while [ -e '${file}' ]; do sleep 0.05; done; echo held >held.txt`)
  return { letGo: () => rmSync(file) }
}

function write(home: TestHome, name: string, fileName: string, script: string): void {
  const dir = join(home.dataDir, 'plugins', name)
  const file = join(dir, fileName)
  mkdirSync(dir, { recursive: true })
  writeFileSync(file, script.startsWith('#!') ? script : `#!/usr/bin/env bash\n${script}\n`)
  chmodSync(file, 0o755)
}
