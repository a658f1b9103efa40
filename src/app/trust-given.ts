import { trust } from '../base/trusted-settings.ts'
import type { CrawlConfig } from '../db/tables.ts'
import type { KnownSettings } from '../hooks/known-settings.ts'

/**
 * Notes the settings that were given here for a crawl, so that its row counts. Called before the row is written: only
 * what a person has given may be noted, never a record.
 */
export function trustGiven(known: KnownSettings, dataDir: string, { env = {}, frozen = {} }: CrawlConfig): void {
  const kept = Object.entries(frozen).map(([name, { value }]) => [name, value] as const)
  trustSettings(known, dataDir, [...kept, ...Object.entries(env)])
}

/** The same for settings by name. */
export function trustSettings(
  known: KnownSettings,
  dataDir: string,
  settings: readonly (readonly [name: string, value: string])[],
): void {
  const told = settings.filter(([name, value]) => known.needsTrust(name, value))
  if (told.length > 0) trust(dataDir, told)
}
