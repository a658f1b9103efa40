import type { SettingName } from '../base/config.ts'

/** What every verb understands, and what is said of it: in words, or as of the setting that it sets. */
export const GLOBAL_OPTIONS: readonly (readonly [flags: string, about: string | { readonly sets: SettingName }])[] = [
  ['--data-dir <dir>', { sets: 'DATA_DIR' }],
  ['--database-url <url>', { sets: 'DATABASE_URL' }],
  ['--wait-db <seconds>', { sets: 'WAIT_DB' }],
  ['--json', 'data as JSON on stdout'],
  ['--no-color', { sets: 'NO_COLOR' }],
  ['-q, --quiet', 'only warnings and errors'],
  ['-v, --verbose', 'everything'],
]
