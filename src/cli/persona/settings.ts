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

/** Why a persona cannot have these settings, each in a line. */
export function refusedOf({ known, settings }: Asked, texts: Texts): string[] {
  return Object.entries(texts).flatMap(([name, text = '']) => {
    const why = known.refusalForCrawl(name, text, settings.texts)
    if (why !== undefined) return [why]
    if (name === 'ACTIVE_PERSONA') return ['ACTIVE_PERSONA names a persona: no persona has it']
    if (known.isFrozen(name, text)) return []
    return [`${name} is no setting of a persona: set it in the environment or in archivebox.toml`]
  })
}
