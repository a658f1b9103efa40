import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SETTERS, type Setter, settingsOf } from '../../../src/base/config.ts'
import { isTrusted, TRUSTED_FILE, trust } from '../../../src/base/trusted-settings.ts'
import type { CrawlConfig } from '../../../src/db/tables.ts'
import { crawlSettings, pageSettings } from '../../../src/hooks/crawl-settings.ts'
import { findPlugins, pluginTrees } from '../../../src/hooks/discover.ts'
import { KnownSettings } from '../../../src/hooks/known-settings.ts'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'setters-'))
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

function plugin(name: string, properties?: object, more: object = {}): void {
  mkdirSync(join(dataDir, 'plugins', name), { recursive: true })
  const config = { ...more, ...(properties && { properties }) }
  if (properties) writeFileSync(join(dataDir, 'plugins', name, 'config.json'), JSON.stringify(config))
}
const known = () => new KnownSettings(findPlugins(pluginTrees(dataDir, {})))
const words = (text: string) => text.trim().split(/\s+/).filter(Boolean).sort()

/** Who may set what, of the program and of the built-in plugins; beside these flags, times and limits of plugins. */
const TABLE: Readonly<Record<Setter, string>> = {
  page: `
    ACCEPT_LANGUAGE BACKGROUND_GRACE CHROME_HIDE_OVERLAYS CHROME_LANGUAGE CHROME_RESOLUTION CHROME_TIMEZONE
    CHROME_USER_AGENT CONTACT HOOK_HOST HOOK_RETRIES HOOK_RETRY_SECONDS HOST_CONCURRENCY HOST_DELAY MANNERS RESOLUTION
    REUSE_UNCHANGED ROBOTS_TXT TIMEOUT USER_AGENT WGET_USER_AGENT`,
  crawl: 'ACTIVE_PERSONA CRAWL_WACZ_MAX_SIZE MAX_PAGES_PER_HOST MAX_SIZE_PER_HOST',
  persona: `
    ARCHIVEDOTORG_ENABLED ARCHIVEDOTORG_URL CHECK_SSL_VALIDITY CHROME_ARGS_EXTRA COOKIES_FILE GIT_ARGS GIT_ARGS_EXTRA
    GIT_DOMAINS WGET_ARGS WGET_ARGS_EXTRA WGET_CHECK_SSL_VALIDITY YTDLP_ARGS YTDLP_ARGS_EXTRA
    YTDLP_CHECK_SSL_VALIDITY`,
  machine: `
    ABXPKG_LIB_DIR ABX_PLUGINS_DIR ALLOW_PRIVATE_HOSTS BACKUP_CHECK BACKUP_DIR BACKUP_EVERY BACKUP_KEEP
    BLOCK_PRIVATE_ADDRESSES CHROMEWEBSTORE_EXTENSIONS_DIR CHROME_BINARY CHROME_SANDBOX CONTAINMENT CONTENT_URL
    DATABASE_URL DATABASE_URL_FILE DATA_DIR DISK_FLOOR FFMPEG_BINARY FORCE_COLOR GIT_BINARY HISTORY_DAYS HOOK_ENV_ALLOW
    HOOK_USER LOG_FORMAT LOG_LEVEL MAX_CRAWL_WORKERS MAX_SNAPSHOT_WORKERS NODE_BINARY NODE_LOST_SECONDS
    NODE_MODULES_DIR NO_COLOR PUBLIC_URL PYTHON_BINARY SERVER_TOKEN STOP_SECONDS WAIT_DB WGET_BINARY YTDLP_BINARY`,
}
const OF_ANY_PLUGIN = /^[A-Z_]+?_(ENABLED|(SETTLE_)?TIMEOUT|MAX_(SIZE|URLS|PAGES|MEMORY))$/

/** What would tell a program something, or have us read or connect elsewhere: its name, and a value that it takes. */
const FORBIDDEN: Readonly<Record<string, string>> = {
  ...{ PATH: '/evil', HOME: '/evil', TMPDIR: '/evil', LD_PRELOAD: '/evil.so', NODE_OPTIONS: '--import=/evil' },
  ...{ NODE_PATH: '/evil', PYTHONPATH: '/evil', PERSONAS_DIR: '/evil', ABXPKG_LIB_DIR: '/evil', BASH_ENV: '/evil' },
  ...{ ABX_PLUGINS_DIR: '/evil', NODE_BINARY: '/evil', WGET_BINARY: '/evil', YOUTUBEDL_BINARY: '/evil' },
  ...{ CHROME_USER_DATA_DIR: '/evil', CHROME_SANDBOX: 'false', DATABASE_URL: 'postgres://evil', DATA_DIR: '/evil' },
  ...{ BLOCK_PRIVATE_ADDRESSES: 'false', ALLOW_PRIVATE_HOSTS: '10.0.0.1', HOOK_ENV_ALLOW: 'SECRET' },
}
/** The same, but for who works here. */
const FOR_PERSONS: Readonly<Record<string, string>> = {
  ...{ YTDLP_ARGS_EXTRA: '["--exec","evil"]', WGET_ARGS: '["-O","/evil"]', WGET_EXTRA_ARGS: '["-O","/evil"]' },
  ...{ GIT_ARGS: '["clone"]', CHROME_ARGS_EXTRA: '["--no-sandbox"]', ARCHIVEDOTORG_URL: 'http://evil' },
  ...{ HTTPS_PROXY: 'http://evil', http_proxy: 'http://evil', SSL_CERT_FILE: '/evil', NODE_EXTRA_CA_CERTS: '/evil' },
  ...{ REQUESTS_CA_BUNDLE: '/evil', CURL_CA_BUNDLE: '/evil', COOKIES_FILE: '/evil', AUTH_STORAGE_FILE: '/evil' },
  ...{ CHECK_SSL_VALIDITY: 'false', WGET_CHECK_SSL_VALIDITY: 'no', QUIET_ANYTHING: 'evil', TO_COME_ARGS: 'evil' },
  ...{ ARCHIVEDOTORG_ENABLED: 'true', SUBMIT_ARCHIVEDOTORG: 'true' },
  ...{ USER_AGENT: 'me {SECRET}', CHROME_LANGUAGE: 'de\r\nX-Evil: 1', CHROME_USER_AGENT: '{SECRET}' },
}
const OURS = { HOME: '/home/me', SECRET: 'hush', BLOCK_PRIVATE_ADDRESSES: 'true', HOOK_ENV_ALLOW: 'SECRET,LD_PRELOAD' }
const process = settingsOf(OURS)
const reasons: string[] = []
const complain = (why: string) => void reasons.push(why)
beforeEach(() => {
  reasons.length = 0
})
/** What of these settings counts in a crawl's row, and what in that of a page. */
const ofCrawl = (config: CrawlConfig) => crawlSettings(dataDir, process, config, complain)
const ofPage = (own: Readonly<Record<string, string>>) => pageSettings(dataDir, process, ofCrawl({}), own, complain)
const inFrozen = (texts: Readonly<Record<string, string>>): CrawlConfig => ({
  frozen: Object.fromEntries(
    Object.entries(texts).map(([name, value]) => [name, { value, source: 'persona' as const }]),
  ),
})
const { DATABASE_URL: _, ...UNTOUCHED } = process.texts

describe('who may set a setting', () => {
  it('is decided for each of the program and of the built-in plugins', () => {
    const all = known()
    const by = Map.groupBy(
      [...all.all.keys()].filter((name) => !(OF_ANY_PLUGIN.test(name) && all.setterOf(name) === 'page')).sort(),
      (name) => all.setterOf(name),
    )
    for (const setter of SETTERS) expect(by.get(setter), setter).toEqual(words(TABLE[setter]))
  })

  it('follows from its kind and name where a plugin does not say it, and from all who read it', () => {
    const text = { type: 'string' }
    plugin(
      'odd',
      {
        ...{
          ODD_FLAG: { type: 'boolean' },
          ODD_ENABLED: { type: 'boolean', default: false, 'x-aliases': ['USE_ODD'] },
        },
        ...{ ODD_COUNT: { type: 'integer' }, ODD_WORD: { enum: ['a', 'b'] } },
        ...{ ODD_TEXT: text, ODD_LIST: { type: 'array' }, ODD_PORT: { type: 'integer' }, ODD_STRANGE: null },
        ...{ ODD_SERVER_URL: { type: 'string', 'x-set-by': 'page' }, ODD_TOOL: text, ODD_CACHE_DIR: text },
        ...{ ODD_LIB_PATH: { type: 'string', 'x-set-by': 'page' }, ODD_SANDBOX: { type: 'boolean' } },
        ...{ ODD_VERIFY: { type: 'boolean' }, ODD_API_KEY: { type: 'string', 'x-set-by': 'everybody' } },
        ...{ ODD_LANGUAGE: { type: 'string', 'x-fallback': 'ACCEPT_LANGUAGE' } },
        ...{ ODD_COOKIES: { type: 'string', 'x-fallback': 'COOKIES_FILE' } },
        ...{ ODD_SIZE: { type: 'integer', 'x-fallback': 'SIZES', 'x-aliases': ['SIZE_OF_ODD'] } },
        ...{ ODD_EXTRA: { type: 'array', 'x-fallback': 'SIZES', 'x-aliases': ['SIZE_OF_ODD'] } },
      },
      { required_binaries: ['{ODD_TOOL}'] },
    )
    plugin('quiet')
    const { all, ...settings } = { all: known() }
    expect(settings).toEqual({})
    const by = Map.groupBy(
      words(`ODD_FLAG ODD_COUNT ODD_WORD ODD_TEXT ODD_LIST ODD_PORT ODD_STRANGE ODD_SERVER_URL ODD_TOOL ODD_CACHE_DIR
        ODD_LIB_PATH ODD_SANDBOX ODD_VERIFY ODD_API_KEY ODD_LANGUAGE ODD_COOKIES ODD_SIZE ODD_EXTRA SIZES SIZE_OF_ODD
        ODD_ENABLED USE_ODD QUIET_TEXT QUIET_BINARY NOBODYS PGPASSWORD __proto__ constructor`),
      (name) => all.setterOf(name),
    )
    expect(Object.fromEntries(by)).toEqual({
      page: words('ODD_FLAG ODD_COUNT ODD_WORD ODD_SERVER_URL ODD_LANGUAGE ODD_SIZE'),
      persona: words(`ODD_TEXT ODD_LIST ODD_PORT ODD_STRANGE ODD_VERIFY ODD_API_KEY ODD_COOKIES ODD_ENABLED ODD_EXTRA
        SIZES SIZE_OF_ODD QUIET_TEXT USE_ODD NOBODYS __proto__ constructor`),
      machine: words('ODD_TOOL ODD_CACHE_DIR ODD_LIB_PATH ODD_SANDBOX QUIET_BINARY PGPASSWORD'),
    })
  })
})

describe("a row that another program, a backup or a stranger's hand wrote", () => {
  beforeEach(() => plugin('quiet'))

  it.each(Object.entries({ ...FORBIDDEN, ...FOR_PERSONS }))('does not set %s=%s', (name, value) => {
    const row = { [name]: value }
    expect(ofCrawl({ env: row }).texts).toEqual(UNTOUCHED)
    expect(ofCrawl(inFrozen(row)).texts).toEqual(UNTOUCHED)
    expect(ofPage(row)).toEqual(UNTOUCHED)
    expect(ofCrawl({ env: row }).plugins).toBe(ofCrawl({}).plugins)
  })

  it('says once what is left out, as far as a hook would have got it', () => {
    ofCrawl({ env: { WGET_ARGS: 'evil', WGET_BINARY: '/evil', FOO: 'nobody asks' } })
    expect(reasons).toEqual([
      'WGET_ARGS is in a row, but was never set to this value here, with -c or otherwise',
      'WGET_BINARY is a setting of a machine, not of a row',
    ])
  })

  it('sets what tells nobody what to do, and what protects', () => {
    const harmless = { TIMEOUT: '7', HTML_MAX_SIZE: '1mb', CHROME_RESOLUTION: '800,600', USER_AGENT: 'me {not a name}' }
    const off = { ARCHIVEDOTORG_ENABLED: 'false', WGET_ENABLED: 'true' }
    const row = {
      ...harmless,
      ...off,
      CHECK_SSL_VALIDITY: 'true',
      BLOCK_PRIVATE_ADDRESSES: 'on',
      WGET_CHECK_SSL_VALIDITY: '1',
    }
    expect(ofCrawl({ env: row }).texts).toEqual({ ...UNTOUCHED, ...row })
    expect(ofPage(row)).toEqual({ ...UNTOUCHED, ...row })
    expect(ofCrawl({ env: { MAX_PAGES_PER_HOST: '3', ACTIVE_PERSONA: 'Reader' } }).texts).toMatchObject({
      MAX_PAGES_PER_HOST: '3',
      ACTIVE_PERSONA: 'Reader',
    })
    expect(ofPage({ MAX_PAGES_PER_HOST: '3', ACTIVE_PERSONA: 'Reader' })).toEqual(UNTOUCHED)
  })

  it('is believed about what somebody has set here to the same value, but never about what is for a machine', () => {
    trust(dataDir, Object.entries({ ...FORBIDDEN, ...FOR_PERSONS }))
    for (const [name, value] of Object.entries(FOR_PERSONS)) {
      expect(ofCrawl({ env: { [name]: value } }).texts, name).toEqual({ ...UNTOUCHED, [name]: value })
      expect(ofPage({ [name]: value }), name).toEqual({ ...UNTOUCHED, [name]: value })
      expect(ofCrawl({ env: { [name]: `${value} ` } }).texts[name], name).not.toBe(`${value} `)
    }
    expect(ofCrawl({ env: FORBIDDEN }).texts).toEqual(UNTOUCHED)
    expect(ofCrawl(inFrozen(FORBIDDEN)).texts).toEqual(UNTOUCHED)
    expect(ofPage(FORBIDDEN)).toEqual(UNTOUCHED)
  })

  it('may be anything', () => {
    for (const junk of [[], 'text', 7, null, { TIMEOUT: 7 }, { TIMEOUT: { value: '7' } }, { TIMEOUT: null }, [['a']]]) {
      const config = { env: junk, frozen: junk } as unknown as CrawlConfig
      const { TIMEOUT: frozen, ...others } = ofCrawl(config).texts
      expect(others).toEqual(UNTOUCHED)
      expect([undefined, '7']).toContain(frozen)
    }
    const own = JSON.parse('{"__proto__": "evil", "constructor": "evil", "TIMEOUT": "7"}') as Record<string, string>
    expect(ofCrawl({ env: own }).texts).toEqual({ ...UNTOUCHED, TIMEOUT: '7' })
  })
})

describe('the file of what was set here', () => {
  it('is for its owner alone, has no value, and grows by what is new', () => {
    const file = join(dataDir, TRUSTED_FILE)
    trust(dataDir, [])
    expect(statSync(file, { throwIfNoEntry: false })).toBeUndefined()
    trust(dataDir, [
      ['A', 'hush\n1'],
      ['A', 'hush\n1'],
    ])
    const text = readFileSync(file, 'utf8')
    trust(dataDir, [['A', 'hush\n1']])
    expect(readFileSync(file, 'utf8')).toBe(text)
    trust(dataDir, [['B', '1']])
    expect(readFileSync(file, 'utf8')).toMatch(/^#.*\nA [0-9a-f]{64}\nB [0-9a-f]{64}\n$/)
    expect(text).not.toContain('hush')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect([isTrusted(dataDir, 'A', 'hush\n1'), isTrusted(dataDir, 'B', 'hush\n1')]).toEqual([true, false])
    writeFileSync(file, '')
    expect(isTrusted(dataDir, 'A', 'hush\n1')).toBe(false)
  })
})
