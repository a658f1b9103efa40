import type { SettingName } from '../base/config.ts'

/** The global options, and their descriptions: in words, or those of the setting that they set. */
export const GLOBAL_OPTIONS: readonly (readonly [flags: string, about: string | { readonly sets: SettingName }])[] = [
  ['--data-dir <dir>', { sets: 'DATA_DIR' }],
  ['--database-url <url>', { sets: 'DATABASE_URL' }],
  ['--wait-db <seconds>', { sets: 'WAIT_DB' }],
  ['--json', 'data as JSON on stdout'],
  ['--no-color', { sets: 'NO_COLOR' }],
  ['-q, --quiet', 'only warnings and errors'],
  ['-v, --verbose', 'everything'],
]
