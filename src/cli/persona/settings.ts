import { refusedOf } from '../../app/personas/find.ts'
import type { Texts } from '../../base/config.ts'
import type { TomlValue } from '../../base/config-edit.ts'
import type { Asked } from '../settings.ts'

/** The settings in KEY=VALUE words, for persona.toml. Throws UsageError with all that is wrong. */
export function personaSettings(asked: Asked, pairs: readonly string[]): Map<string, TomlValue> {
  const { problems, known } = asked
  const changes = new Map<string, TomlValue>()
  for (const pair of pairs) {
    const [, key, value = ''] = /^([A-Za-z]\w*)=(.*)$/s.exec(pair) ?? []
    if (key === undefined) problems.add(`a setting is KEY=VALUE, not "${pair}"`, 'for example: ACCEPT_LANGUAGE=de-DE')
    else changes.set(known.nameOf(key.toUpperCase()), value)
  }
  for (const why of refusedOf(asked, Object.fromEntries(changes) as Texts)) problems.add(why)
  problems.refuse()
  return changes
}
