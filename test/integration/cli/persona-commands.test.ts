import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findProgram } from '../../../src/base/find-program.ts'
import { withPrograms } from '../../support/bare-path.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { CANARY, COOKIES_TXT, type LoginSite, SESSION, startLoginSite } from '../../support/login-site.ts'
import { records } from '../../support/records.ts'

const homes = useHomes()
let site: LoginSite
let home: TestHome
let outside: string
beforeAll(async () => {
  site = await startLoginSite()
  home = await homes.original()
  outside = join(home.dataDir, 'personas', '.outside')
  mkdirSync(outside)
  writeFileSync(join(outside, 'cookies.txt'), COOKIES_TXT)
})
afterAll(() => site.close())

const persona = (...path: string[]) => join(home.dataDir, 'personas', 'Reader', ...path)
/** What a refused command says; nothing of it is data. */
async function refusal(args: readonly string[], code = 2): Promise<string> {
  const finished = await home.run(args)
  expect({ code: finished.code, stdout: finished.stdout }, finished.stderr).toEqual({ code, stdout: '' })
  return finished.stderr
}
/** What a file says, unpacked. */
const contentOf = (file: string) => (file.endsWith('.gz') ? gunzipSync(readFileSync(file)) : readFileSync(file))
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

it('there is none at first', async () => {
  const { code, stdout, stderr } = await home.run(['persona', 'list'])
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: '' })
})

describe('a persona', () => {
  it('is made by what it imports, for its owner alone, and shown without what is secret', async () => {
    const { code, stderr } = await home.run(['persona', 'import', 'Reader', join(outside, 'cookies.txt')])
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr:
        'created persona Reader\nReader: imported 2 cookies for 127.0.0.1\n' +
        '1 cookie had already expired: old (127.0.0.1); log in there and export anew\n',
    })
    expect([persona(), persona('cookies.txt'), persona('persona.toml')].map(modeOf)).toEqual(['700', '600', '600'])
    const shown = await home.run(['persona', 'show', 'Reader'])
    expect(shown.stdout).not.toContain(CANARY)
    expect(JSON.parse(shown.stdout)).toMatchObject({
      ...{ type: 'Persona', name: 'Reader', active: false, cookies: 2, expired: 1, expires: null },
      domains: [{ domain: '127.0.0.1', cookies: 2, expired: ['old'] }],
    })
  })

  it('takes over cookies anew, and keeps the others', async () => {
    const cookie = { name: 'old', value: `${CANARY}-new`, domain: '127.0.0.1', path: '/', expirationDate: 4e9 }
    const input = JSON.stringify([cookie])
    expect((await home.run(['persona', 'import', 'Reader', '-'], { input })).code).toBe(0)
    expect(await records(home, ['persona', 'list'])).toMatchObject([{ name: 'Reader', cookies: 2, expired: 0 }])
    expect(readFileSync(persona('cookies.txt'), 'utf8')).toContain(`sid\t${SESSION}\n`)
  })

  it('has settings, which are checked', async () => {
    await home.run(['persona', 'set', 'Reader', 'ACCEPT_LANGUAGE=de-DE', 'CHROME_TIMEZONE=Asia/Tokyo'])
    expect(readFileSync(persona('persona.toml'), 'utf8')).toMatch(/^# A persona[\s\S]*\nACCEPT_LANGUAGE = "de-DE"\n/)
    const wrong = ['TIMOUT=3', 'DATA_DIR=/x', 'CHROME_TIMEZONE=Mars', 'ACTIVE_PERSONA=Other', 'FOO']
    expect(await refusal(['persona', 'set', 'Reader', ...wrong])).toBe(
      'error: a setting is KEY=VALUE, not "FOO"\n' +
        'error: TIMOUT is not a setting: did you mean TIMEOUT?\n' +
        'error: DATA_DIR cannot be set for a crawl: set it in the environment or in archivebox.toml\n' +
        'error: CHROME_TIMEZONE=Mars: it takes the name of a time zone, such as Europe/Berlin or UTC\n' +
        'error: ACTIVE_PERSONA chooses a persona: it cannot be set in one\n' +
        'hint:  for example: ACCEPT_LANGUAGE=de-DE\n',
    )
  })

  it('is edited as a file; a text with mistakes does not take its place', async () => {
    const header = `\\n[headers."127.0.0.1"]\\nX-Key = "${CANARY}-key"\\n`
    const edit = (text: string) => home.run(['persona', 'edit', 'Reader'], { env: { EDITOR: `printf '${text}' >>` } })
    const refused = await edit(header.replace(']', ''))
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('is not valid TOML (line ') })
    expect(refused.stderr).not.toContain(CANARY)
    expect((await edit('')).code).toBe(2)
    writeFileSync(persona('.persona.toml.draft'), readFileSync(persona('persona.toml')))
    expect((await edit(header)).code).toBe(0)
    expect(await records(home, ['persona', 'show', 'Reader'])).toMatchObject([{ headers: { '127.0.0.1': ['x-key'] } }])
    expect(modeOf(persona('persona.toml'))).toBe('600')
  })

  it('is named rightly, or refused', async () => {
    const none = 'error: there is no persona "Raeder": did you mean Reader?\n'
    const hint = 'hint:  archivebox-ts persona list shows them, persona new creates one\n'
    for (const command of [
      ['persona', 'show', 'Raeder'],
      ['persona', 'import', 'Raeder', join(outside, 'cookies.txt')],
      ['add', '--persona', 'Raeder', site.url],
      ['add', '-c', 'ACTIVE_PERSONA=Raeder', site.url],
    ])
      expect(await refusal(command)).toBe(none + hint)
    expect(await refusal(['persona', 'new', '../x'])).toMatch(/^error: a persona has a name of letters/)
    expect(await refusal(['persona', 'new', 'reader'])).toMatch(/^error: the persona "reader" exists already/)
    expect(await refusal(['add', '--persona', 'Reader', '-c', 'ACTIVE_PERSONA=Other', site.url])).toContain(
      'a crawl has one persona',
    )
  })

  it('is tested without a browser, too', async () => {
    const test = async (path: string) => {
      const { code, stdout } = await home.run(['persona', 'test', 'Reader', site.url + path])
      expect(stdout).not.toContain(CANARY)
      return { code, ...(JSON.parse(stdout) as object) }
    }
    expect(await test('/private')).toMatchObject({ code: 0, logged_in: true, by: 'HTTP', cookies: ['sid', 'old'] })
    expect(await test('/guarded')).toMatchObject({ code: 1, cause: 'the page asks for a password' })
    expect(await test('/members')).toMatchObject({ code: 1, cause: 'HTTP 403' })
    expect(await test('/leads')).toMatchObject({
      code: 1,
      cause: expect.stringMatching(/redirects to 127.*\/accounts\/login$/),
    })
    expect(await refusal(['persona', 'test', 'Reader', `${site.url}/gone`], 1)).toMatch(
      /cannot tell whether it is logged in: HTTP 404/,
    )
  })

  it('is not made of a file without cookies', async () => {
    const file = join(outside, 'list.html')
    writeFileSync(file, '<a href="/">x</a>\n')
    expect(await refusal(['persona', 'import', 'Other', file])).toMatch(/line 1: a cookie has 7 fields/)
    writeFileSync(file, '# nothing\n')
    expect(await refusal(['persona', 'import', 'Other', file])).toMatch(/has no cookies\nhint: /)
    expect(await refusal(['persona', 'import', 'Other', `${file}.no`])).toMatch(/^error: no such file: /)
    expect(existsSync(join(home.dataDir, 'personas', 'Other'))).toBe(false)
  })
})

const WGET = withPrograms('wget')
const withoutWget = WGET.missing ? ' (without wget, which is not here)' : ''

describe('a crawl', () => {
  it(`visits as its persona; its login is nowhere but in its folder${withoutWget}`, async () => {
    const wget = withoutWget ? undefined : findProgram('wget', WGET.path)
    const spied = join(outside, 'wget')
    writeFileSync(spied, `#!/bin/sh\nprintf '%s\\n' "$@" >>"${outside}/arguments"\nexec ${wget} "$@"\n`)
    chmodSync(spied, 0o755)
    site.requests.length = 0
    const plugins = `headers,html,favicon,title,readability${wget ? ',wget' : ''}`
    const env = { ACCEPT_LANGUAGE: 'fr', WGET_BINARY: spied, LOG_LEVEL: 'debug' }
    const command = ['add', '--run', '--persona', 'Reader', '--plugins', plugins, `${site.url}/private`]
    const { code, stdout, stderr } = await home.run(command, { env })
    expect(code, stderr).toBe(0)
    const [crawl] = stdout.split('\n').flatMap((line) => (line.includes('"Crawl"') ? JSON.parse(line) : []))
    expect(crawl.settings).toMatchObject({
      ACTIVE_PERSONA: { value: 'Reader', source: 'crawl' },
      ACCEPT_LANGUAGE: { value: 'de-DE', source: 'persona' },
    })
    expect(await records(home, ['snapshot', 'list'])).toMatchObject([{ title: 'Private', outcome: 'archived' }])
    const asked = site.requests.filter(({ path }) => path === '/private')
    expect(asked).toHaveLength(wget ? 2 : 1)
    for (const { headers } of asked) expect(headers.cookie).toContain(SESSION)
    expect(asked[0]!.headers).toMatchObject({ 'x-key': `${CANARY}-key`, 'accept-language': 'de-DE' })

    expect(stdout + stderr).not.toContain(CANARY)
    if (wget) expect(readFileSync(join(outside, 'arguments'), 'utf8')).not.toContain(CANARY)
    const tables = await home.query<{ name: string }>(
      `select quote_ident(tablename) as name from pg_tables where schemaname = current_schema()`,
    )
    expect(tables.length).toBeGreaterThan(8)
    for (const { name } of tables)
      expect(JSON.stringify(await home.query(`select * from ${name}`)), name).not.toContain(CANARY)
    const files = readdirSync(home.dataDir, { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile() && !each.parentPath.startsWith(join(home.dataDir, 'personas')))
      .map((each) => join(each.parentPath, each.name))
    expect(files.some((file) => file.endsWith('headers.json'))).toBe(true)
    expect(files.filter((file) => contentOf(file).includes(CANARY))).toEqual([])
  })

  it('whose persona is gone does not visit as nobody', async () => {
    await home.add('--persona', 'Reader', '--plugins', 'headers', `${site.url}/login`)
    expect(await refusal(['persona', 'delete', 'Reader'], 1)).toContain('hint:  --yes does it')
    expect((await home.run(['persona', 'delete', '--yes', 'Reader'])).code).toBe(0)
    expect(existsSync(persona())).toBe(false)
    await home.run(['run', '--exit-on-idle'])
    expect(await records(home, ['result', 'list', '-n', '1'])).toMatchObject([
      { status: 'failed', output_str: 'there is no persona Reader here' },
    ])
  })
})
