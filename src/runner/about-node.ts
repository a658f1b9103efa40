import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Settings } from '../base/config.ts'
import { hasPassword } from '../base/secrets.ts'
import { sha256Of } from '../base/sha256.ts'
import type { Home } from '../db/home.ts'
import type { AboutNode } from '../db/nodes.ts'
import { crawlSettings } from '../hooks/crawl-settings.ts'
import { isEnabled, type Plugin } from '../hooks/discover.ts'
import { KnownSettings } from '../hooks/known-settings.ts'

/** Digits of a hash that tell two versions of a plugin apart. */
const DIGITS = 12
/** No two nodes have the same. */
const OWN = ['DATA_DIR']

/** What our node works with, as far as others may know: what they have differently archives differently. */
export function aboutNode({ dataDir }: Pick<Home, 'dataDir'>, settings: Settings): AboutNode {
  const { plugins, texts } = crawlSettings(dataDir, settings)
  const known = new KnownSettings(plugins)
  const isShown = ([name, text]: [string, string | undefined]) =>
    text !== undefined && known.knows(name) && !OWN.includes(name) && !known.isSecret(name) && !hasPassword(text)
  return {
    plugins: Object.fromEntries(
      plugins.filter((plugin) => isEnabled(plugin, texts)).map((plugin) => [plugin.name, madeOf(plugin)]),
    ),
    settings: Object.fromEntries(
      Object.entries(settings.texts).filter((entry): entry is [string, string] => isShown(entry)),
    ),
  }
}

/** `built in`: of the package, whose version each node says; else a hash of what lies in its folder. */
function madeOf({ builtIn, folder, hooks }: Plugin): string {
  if (builtIn) return 'built in'
  const texts = [...hooks, 'config.json'].sort().map((name) => `${name}\n${textOf(join(folder, name))}`)
  return sha256Of(texts.join('\n')).slice(0, DIGITS)
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // There is none, or it is not for us to read.
  }
}
