import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestHome } from './homes.ts'

/**
 * Puts a plugin with one hook into the data dir: `script` is what bash runs, or the whole file when it brings a
 * shebang.
 */
export function plugin(home: TestHome, name: string, script: string): void {
  hook(home, name, `40_${name}.sh`, script)
}

/** Puts one hook more into a plugin: `order` is what its file name has after `on_Snapshot__`. */
export function hook(home: TestHome, name: string, order: string, script: string): void {
  const dir = join(home.dataDir, 'plugins', name)
  const file = join(dir, `on_Snapshot__${order}`)
  mkdirSync(dir, { recursive: true })
  writeFileSync(file, script.startsWith('#!') ? script : `#!/usr/bin/env bash\n${script}\n`)
  chmodSync(file, 0o755)
}
