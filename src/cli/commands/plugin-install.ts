import { installNeeded } from '../../app/plugins/install-needed.ts'
import { EXIT } from '../../base/errors.ts'
import { sayMeanwhile } from '../meanwhile.ts'
import type { Asked } from '../settings.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'
import { here, named } from './plugin.ts'

/**
 * `plugin install [NAME...]`: installs the Node and Python modules that plugins lack, all enabled ones by default, and
 * names the command for what only the system can install. Exit code 1 when something could not be installed.
 */
export async function pluginInstall(asked: Asked, names: readonly string[]): Promise<number> {
  const { plugins, texts } = here(asked)
  named(plugins, names)
  let [isComplete, isFailed] = [true, false]
  for await (const { record, failed } of installNeeded(plugins, texts, names, { tell: sayMeanwhile })) {
    isFailed ||= failed
    isComplete &&= record.status === 'there'
    if (wantsJson(asked)) printRecord(record)
    if (record.status === 'installed') terminal.say(`installed: ${record.name} (for ${record.plugin})`)
    if (record.status === 'missing') terminal.say(`missing:   ${record.message}`)
  }
  if (isComplete) terminal.say('nothing is missing')
  return isFailed ? EXIT.failed : EXIT.ok
}
