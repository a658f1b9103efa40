import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { files, json, read, run, snapshot, useHookRuns } from '../../support/hook-runs.ts'
import { CANARY, COOKIES_TXT, type LoginSite, SESSION, startLoginSite } from '../../support/login-site.ts'

// The hooks that ask for pages by HTTP, each in the test's own process.
useHookRuns()
let site: LoginSite
beforeAll(async () => {
  site = await startLoginSite()
})
afterAll(() => site.close())

let env: Record<string, string>
beforeEach(() => {
  const personas = join(snapshot, 'personas')
  env = { PERSONAS_DIR: personas, ACTIVE_PERSONA: 'Reader' }
  mkdirSync(join(personas, 'Reader'), { recursive: true })
  put('cookies.txt', COOKIES_TXT)
  site.requests.length = 0
})

const put = (name: string, text: string) => writeFileSync(join(snapshot, 'personas', 'Reader', name), text)
const cookiesSent = () => site.requests.map(({ path, headers }) => [path, headers.cookie])

describe('a page that asks for a login', () => {
  it('is shown to the persona, also behind a redirect; nothing of that is kept', async () => {
    expect(await run('title', `${site.url}/private`, env)).toMatchObject({ status: 'succeeded', output: 'Private' })
    await run('headers', `${site.url}/to-private`, env)
    expect(cookiesSent()).toEqual(['/private', '/to-private', '/private'].map((path) => [path, `sid=${SESSION}`]))
    expect(json('headers/headers.json')['headers']).toMatchObject({ 'set-cookie': 'sid=***; HttpOnly' })
    for (const file of files().filter((path) => !path.startsWith('personas/')))
      expect(read(file), file).not.toContain(CANARY)
  })

  it('behind the login of another host: what that leads to is not kept either', async () => {
    await run('headers', `${site.url}/sign-on`, env)
    expect(site.requests.map(({ headers }) => headers.cookie)).toEqual([`sid=${SESSION}`, undefined])
    expect(json('headers/headers.json')['headers']).toMatchObject({ 'set-cookie': 'sid=***; HttpOnly' })
    expect(read('headers/headers.json')).not.toContain(CANARY)
  })

  it('with cookies of any language', async () => {
    put('cookies.txt', `127.0.0.1\tFALSE\t/\tFALSE\t0\tcity\tKöln 東京\n`)
    expect(await run('headers', `${site.url}/private`, env)).toMatchObject({ status: 'succeeded' })
    expect(Buffer.from(site.requests[0]!.headers.cookie!, 'latin1').toString()).toBe('city=Köln 東京')
  })

  it('is shown to nobody else', async () => {
    expect(await run('title', `${site.url}/private`)).toMatchObject({ output: 'Log in' })
    expect(await run('title', `${site.otherUrl}/private`, env)).toMatchObject({ output: 'Log in' })
    expect(cookiesSent()).toEqual(Array(2).fill(['/private', undefined]))
  })

  it('is shown with the cookies of COOKIES_FILE, which win', async () => {
    const file = join(snapshot, 'mine.txt')
    writeFileSync(file, COOKIES_TXT.replace(SESSION, 'other'))
    await run('headers', `${site.url}/private`, { ...env, COOKIES_FILE: file })
    expect(cookiesSent()).toEqual([['/private', 'sid=other']])
  })
})

it('headers go to their host, and not along with a redirect', async () => {
  put('persona.toml', `[headers."127.0.0.1"]\nAuthorization = "Bearer ${CANARY}"\n`)
  await run('headers', `${site.url}/away`, { ...env, ACCEPT_LANGUAGE: 'de-DE,de;q=0.9' })
  expect(
    site.requests.map(({ path, headers }) => [path, headers.authorization, headers.cookie, headers['accept-language']]),
  ).toEqual([
    ['/away', `Bearer ${CANARY}`, `sid=${SESSION}`, 'de-DE,de;q=0.9'],
    ['/elsewhere', undefined, undefined, 'de-DE,de;q=0.9'],
  ])
  expect(read('headers/headers.json')).not.toContain(CANARY)
})

describe('no page is asked for', () => {
  it.each([
    ['as a persona that is not there', { ACTIVE_PERSONA: 'Raeder' }, 'there is no persona Raeder here'],
    ['without its cookies', { COOKIES_FILE: '/nowhere/cookies.txt' }, 'COOKIES_FILE not found: /nowhere/cookies.txt'],
  ])('%s', async (_, more, output) => {
    expect(await run('headers', `${site.url}/private`, { ...env, ...more })).toMatchObject({ status: 'failed', output })
    expect(site.requests).toEqual([])
  })

  it('with cookies that cannot be read', async () => {
    put('cookies.txt', `127.0.0.1 FALSE / FALSE 0 sid ${SESSION}\n`)
    const { status, output } = await run('headers', `${site.url}/private`, env)
    expect({ status, output }).toEqual({
      status: 'failed',
      output: expect.stringMatching(/Reader\/cookies\.txt, line 1: a cookie has 7 fields between tabs/),
    })
    expect(output).not.toContain(CANARY)
  })
})

it('the default persona need not be there', async () => {
  const before = { ...env, ACTIVE_PERSONA: 'Default' }
  expect(await run('title', `${site.url}/private`, before)).toMatchObject({ output: 'Log in' })
})
