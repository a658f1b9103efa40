import { installNeeded, type Provided } from '../../app/plugins/install-needed.ts'
import { installReplay, REPLAY } from '../../app/replay/install.ts'
import type { Texts } from '../../base/config.ts'
import { EXIT } from '../../base/errors.ts'
import type { Plugin } from '../../hooks/discover.ts'
import { sayMeanwhile } from '../meanwhile.ts'
import type { Asked } from '../settings.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'
import { here, named } from './plugin.ts'

/**
 * `plugin install [NAME...]`: installs the Node and Python modules that plugins lack, those of all enabled ones by
 * default, and prints the command for what only the system can install. `replay` is what the server replays WARC and
 * WACZ with. Exit code 1 when something could not be installed.
 */
export async function pluginInstall(asked: Asked, names: readonly string[]): Promise<number> {
  const { plugins, texts } = here(asked)
  named(
    plugins,
    names.filter((name) => name !== REPLAY),
  )
  let [isComplete, isFailed] = [true, false]
  for await (const { record, failed } of provided(plugins, texts, names)) {
    isFailed ||= failed
    isComplete &&= record.status === 'there'
    if (wantsJson(asked)) printRecord(record)
    if (record.status === 'installed') terminal.say(`installed: ${record.name} (for ${record.plugin})`)
    if (record.status === 'missing') terminal.say(`missing:   ${record.message}`)
  }
  if (isComplete) terminal.say('nothing is missing')
  return isFailed ? EXIT.failed : EXIT.ok
}

async function* provided(plugins: readonly Plugin[], texts: Texts, names: readonly string[]): AsyncGenerator<Provided> {
  const call = { tell: sayMeanwhile }
  const others = names.filter((name) => name !== REPLAY)
  if (others.length < names.length) yield await installReplay(texts, call)
  if (others.length > 0 || names.length === 0) yield* installNeeded(plugins, texts, others, call)
}
