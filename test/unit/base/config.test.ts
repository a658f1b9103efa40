import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ALL_SETTINGS, withSettings } from '../../../scripts/write-settings.ts'
import {
  described,
  readSetting,
  refusal,
  SETTINGS,
  type Setting,
  type SettingName,
  settingsOf,
  strongest,
} from '../../../src/base/config.ts'
import { readDoc } from '../../support/docs.ts'
import { program, ROOT } from '../../support/program.ts'

describe('a setting', () => {
  it('has a default that it takes itself, and is described in a line', () => {
    for (const [name, { kind, standard, standardIs, means }] of Object.entries(ALL_SETTINGS)) {
      const written = Array.isArray(standard) ? standard.join(':') : String(standard)
      if (standard === undefined) expect(standardIs, name).toBeTruthy()
      else expect(kind.read(written), name).toEqual(standard)
      expect(`${means}${kind.takes}`, name).not.toMatch(/[\n|]/)
    }
  })

  it.each([
    ['TIMEOUT', 'soon'],
    ['TIMEOUT', '-1'],
    ['TIMEOUT', 'NaN'],
    ['DISK_FLOOR', 'lots'],
    ['DISK_FLOOR', '-1'],
    ['MAX_SNAPSHOT_WORKERS', '-3'],
    ['MAX_SNAPSHOT_WORKERS', '0'],
    ['MAX_SNAPSHOT_WORKERS', '2.5'],
    ['MAX_CRAWL_WORKERS', '1001'],
    ['HOOK_RETRIES', '1.5'],
    ['HOOK_RETRY_SECONDS', 'often'],
    ['HOOK_HOST', 'perhaps'],
    ['CHECK_SSL_VALIDITY', '2'],
    ['LOG_LEVEL', 'verbose'],
    ['CONTAINMENT', 'jail'],
    ['DATA_DIR', '/tmp/a\nb'],
    ['DATA_DIR', '/tmp/a\0b'],
    ['DATABASE_URL', 'bogus'],
    ['DATABASE_URL', 'http://127.0.0.1/'],
    ['USER_AGENT', 'a\nb'],
    ['ACCEPT_LANGUAGE', '\u65e5\u672c'],
    ['ALLOW_PRIVATE_HOSTS', '[1, {"a": 2}]'],
    ['ALLOW_PRIVATE_HOSTS', '[null]'],
    ['TIMEOUT', '1e400'],
    ['HISTORY_DAYS', '9'.repeat(400)],
    ['MAX_SIZE_PER_HOST', '9'.repeat(400)],
  ] as const)('%s does not take %j: it counts as not set', (name, given) => {
    const { kind, standard } = SETTINGS[name]
    const shown = given.length > 60 ? `${given.slice(0, 60)}...` : given
    expect(refusal(name, given, kind)).toBe(`${name}=${shown}: it takes ${kind.takes}`)
    expect(readSetting(name, { [name]: given })).toBe(standard)
  })

  it.each([
    ['DATABASE_URL', ' postgres://me@/db?host=/run/pg '],
    ['DATABASE_URL', 'postgresql:///db'],
    ['USER_AGENT', 'M\u00f6zilla/5.0 (X11)'],
    ['ACCEPT_LANGUAGE', 'de-DE,de;q=0.9'],
  ] as const)('%s takes %j', (name, given) => {
    expect(readSetting(name, { [name]: given })).toBe(given.trim())
  })

  it('that is a list takes JSON of strings, numbers and flags', () => {
    expect(SETTINGS.ALLOW_PRIVATE_HOSTS.kind.read('["a", 1, true]')).toEqual(['a', '1', 'true'])
  })

  it('that is blank is not set; a blank flag is no', () => {
    for (const [name, { kind }] of Object.entries(ALL_SETTINGS)) expect(refusal(name, ' ', kind), name).toBeUndefined()
    const { config } = settingsOf({
      TIMEOUT: '',
      LOG_LEVEL: ' ',
      MAX_SNAPSHOT_WORKERS: '',
      DATABASE_URL: '',
      HOOK_HOST: '',
    })
    expect(config).toMatchObject({
      TIMEOUT: 60,
      LOG_LEVEL: 'info',
      MAX_SNAPSHOT_WORKERS: undefined,
      DATABASE_URL: undefined,
    })
    expect(config.HOOK_HOST).toBe(false)
  })

  it('that is secret is refused without being shown, and a long one is cut', () => {
    expect(refusal('A', 'hunter2', SETTINGS.TIMEOUT.kind, true)).toBe(`A: it takes ${SETTINGS.TIMEOUT.kind.takes}`)
    expect(refusal('A', 'x'.repeat(10_000), SETTINGS.TIMEOUT.kind)!.length).toBeLessThan(150)
  })
})

describe('the settings', () => {
  it('come from the strongest source that has one, and cannot be changed afterwards', () => {
    const { texts, config } = settingsOf(
      strongest(
        { LOG_LEVEL: 'DEBUG', DATA_DIR: undefined },
        { TIMEOUT: '7', LOG_LEVEL: 'warn' },
        { TIMEOUT: '8', DISK_FLOOR: '0.5', FOO: '1' },
      ),
    )
    expect(texts).toEqual({ LOG_LEVEL: 'DEBUG', TIMEOUT: '7', DISK_FLOOR: '0.5', FOO: '1' })
    expect(config).toMatchObject({
      LOG_LEVEL: 'debug',
      TIMEOUT: 7,
      DISK_FLOOR: 0.5,
      DATA_DIR: './data',
      ABX_PLUGINS_DIR: [],
    })
    expect(Object.isFrozen(config) && Object.isFrozen(texts)).toBe(true)
  })

  it('are read from the environment in one file only: others know their own marks, and hand on what they have', () => {
    const reads = globSync('src/**/*.ts', { cwd: ROOT }).flatMap((file) =>
      [...readFileSync(join(ROOT, file), 'utf8').matchAll(/process\.env(?:\[([^\]]+)\]|\.(\w+))/g)].map(
        ([, inBrackets, name]) => `${file}: ${inBrackets ?? name}`,
      ),
    )
    expect(reads.length).toBeGreaterThan(10)
    const ours = /: ('ARCHIVEBOX_\w+'|(MARKER|WORKER_ENV|HOME_ENV)\.\w+|(PARENT|BACKUP|LAUNCH)_ENV|name|'PATH'|'HOME')$/
    expect(reads.filter((read) => !ours.test(read))).toEqual(["src/runner/guardian-process.ts: 'DATA_DIR'"])
  })
})

describe('docs/settings.md', () => {
  it('has the table of all settings as the schema has them (node scripts/write-settings.ts)', () => {
    const docs = readDoc('docs/settings.md')
    for (const name of Object.keys(ALL_SETTINGS)) expect(docs).toContain(`| \`${name}\` |`)
    expect(docs).toBe(withSettings(docs))
  })
})

describe('help', () => {
  it('says of each option that is a setting what the schema says', async () => {
    const { stdout } = await program(['help'])
    const said = stdout.replace(/\s+/g, ' ')
    for (const [name, setting] of Object.entries(SETTINGS) as [string, Setting][])
      if (setting.option?.startsWith('--')) expect(said).toContain(described(name as SettingName))
  })
})
