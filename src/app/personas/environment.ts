import { dirname } from 'node:path'
import { strongest, type Texts } from '../../base/config.ts'
import type { Persona } from '../../browse/persona/persona.ts'
import { crawlSettings } from '../../hooks/crawl-settings.ts'
import { resolvedTexts } from '../../hooks/resolved.ts'
import type { Configured } from '../archive.ts'

/** The settings that a page is visited with as this persona, as the browser's plugin would get them. */
export function personaEnvironment(configured: Configured, { name, settings, files }: Persona): Texts {
  const { texts, plugins } = crawlSettings(configured.dataDir, configured.settings)
  const all = strongest(settings, texts)
  const declared = resolvedTexts(plugins.find(({ meaning }) => meaning.browser)?.declares ?? [], all, {}, false)
  const persona = { ACTIVE_PERSONA: name, PERSONAS_DIR: dirname(files.folder), COOKIES_FILE: undefined }
  return { ...all, ...declared, ...persona, DATA_DIR: configured.dataDir }
}
