import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import WebSocket from 'ws'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { CANARY, COOKIES_TXT, type LoginSite, SESSION, startLoginSite } from '../../support/login-site.ts'
import { givePackagedBrowser, noPackage, packagedBrowser } from '../../support/packaged-browser.ts'
import { processesOf } from '../../support/processes.ts'
import { eventually, WITH_BROWSER } from '../../support/program.ts'
import { records } from '../../support/records.ts'

const homes = useHomes({ ...WITH_BROWSER, CHROME_SETTLE_TIMEOUT: '1', WGET_ENABLED: 'False' })
const isRoot = process.getuid?.() === 0
let site: LoginSite
let home: TestHome
beforeAll(async () => {
  site = await startLoginSite()
  home = await homes.original()
  if (!noPackage) await givePackagedBrowser(home.dataDir)
})
afterAll(() => site.close())

const inPersona = (...path: string[]) => join(home.dataDir, 'personas', 'Reader', ...path)
const tested = async (url: string) => {
  const { code, stdout, stderr } = await home.run(['persona', 'test', 'Reader', url])
  return { code, stderr, ...(JSON.parse(stdout) as { logged_in: boolean; cause: string | null }) }
}

/** Does something in the page that a login shows. */
async function inPage(port: string, expression: string): Promise<void> {
  const targets = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as Record<string, string>[]
  const socket = new WebSocket(targets.find(({ type }) => type === 'page')!['webSocketDebuggerUrl']!)
  await new Promise((resolve) => socket.once('open', resolve))
  socket.send(JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression, awaitPromise: true } }))
  await new Promise((resolve) => socket.once('message', resolve))
  socket.close()
}

describe.skipIf(noPackage)(`a persona in the browser${noPackage}`, () => {
  it('is known to nobody before it logs in', async () => {
    mkdirSync(inPersona(), { recursive: true })
    expect(await tested(`${site.url}/private`)).toMatchObject({
      ...{ code: 1, logged_in: false, cause: 'the page asks for a password' },
      stderr: expect.stringContaining('Reader has no valid cookie and no header for 127.0.0.1\n'),
    })
  })

  it('logs in by DevTools; Ctrl-C keeps its session, what scripts cannot see, and its storage', async () => {
    const login = home.start(['persona', 'login', '--remote', 'Reader', `${site.url}/login`], { input: null })
    await login.says(/press Enter here/)
    const port = /localhost:(\d+)/.exec(login.stderr)![1]!
    await inPage(port, `localStorage.setItem('token', '${CANARY}-stored'); document.forms[0].submit()`)
    // By then the answer of the page itself has come, with a new session.
    await eventually(() => site.requests.some(({ path, headers }) => path === '/picture.png' && headers.cookie))
    login.signal('SIGINT')
    expect(await login.finished()).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/Reader: kept 2 cookies, 1 of them for this session only/),
    })
    const lines = readFileSync(inPersona('cookies.txt'), 'utf8').split('\n').slice(4)
    expect(lines.filter(Boolean).sort()).toEqual([
      '# HttpOnly',
      `127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\t${CANARY}-renewed`,
      expect.stringMatching(/^127\.0\.0\.1\tFALSE\t\/\tFALSE\t\d{10}\ttheme\tdark$/),
    ])
    expect(readFileSync(inPersona('auth.json'), 'utf8')).toContain(`${CANARY}-stored`)
    expect(processesOf(inPersona()).map(({ command }) => command)).toEqual([])
    expect(await tested(`${site.url}/private`)).toMatchObject({ code: 0, logged_in: true })
  })

  it('is not kept waiting by a page that does not answer, or shows a dialog; a cookie of meanwhile stays', async () => {
    const login = (path: string) =>
      home.start(['persona', 'login', '--remote', 'Reader', site.url + path], { input: null })
    const never = login('/never')
    await eventually(() => site.requests.some(({ path }) => path === '/never'))
    never.signal('SIGINT')
    expect(await never.finished()).toMatchObject({ code: 0 })

    const busy = login('/login')
    await busy.says(/press Enter here/)
    await inPage(/localhost:(\d+)/.exec(busy.stderr)![1]!, 'void setTimeout(() => alert())')
    const input = JSON.stringify([{ name: 'theirs', value: CANARY, domain: 'example.com' }])
    expect((await home.run(['persona', 'import', 'Reader', '-'], { input })).code).toBe(0)
    busy.signal('SIGINT')
    expect(await busy.finished()).toMatchObject({ code: 0 })
    expect(processesOf(inPersona()).map(({ command }) => command)).toEqual([])
    expect(readFileSync(inPersona('cookies.txt'), 'utf8')).toMatch(/sid\t[\s\S]*\ttheirs\t|\ttheirs\t[\s\S]*sid\t/)
  })

  it.skipIf(isRoot)(
    `starts without a sandbox where there is none${isRoot ? ' (needs an ordinary user)' : ''}`,
    async () => {
      // What has failed still holds its output.
      const { program, env: surroundings } = await packagedBrowser()
      const exported = Object.entries(surroundings).map(([name, value]) => `export ${name}='${value}'`)
      const wrapper = join(home.dataDir, 'browser.sh')
      const lines = [
        ...['#!/bin/sh', ...exported, `case "$*" in *--no-sandbox*) sleep 1; exec '${program}' "$@";; esac`],
        ...['echo "No usable sandbox!" >&2', 'sleep 0.5 &', 'exit 1', ''],
      ]
      writeFileSync(wrapper, lines.join('\n'), { mode: 0o755 })
      const env = { CHROME_BINARY: wrapper }
      const login = home.start(['persona', 'login', '--remote', 'Reader', `${site.url}/login`], { input: null, env })
      await login.says(/press Enter here/)
      login.signal('SIGINT')
      expect(await login.finished()).toMatchObject({ code: 0 })
    },
  )

  it('connects to nothing private where that is not allowed', async () => {
    const env = { BLOCK_PRIVATE_ADDRESSES: 'true', ALLOW_PRIVATE_HOSTS: new URL(site.url).host }
    site.requests.length = 0
    const { stderr } = await home.run(['persona', 'test', 'Reader', `${site.url}/away`], { env })
    expect(stderr).toContain('(BLOCK_PRIVATE_ADDRESSES)')
    expect(site.requests.map(({ path }) => path)).toEqual(['/away'])
  })

  it('that has expired is not logged in any more, and its cookie is named', async () => {
    writeFileSync(inPersona('cookies.txt'), COOKIES_TXT.replace('\t0\tsid', '\t1000000000\tsid'))
    expect(await tested(`${site.url}/private`)).toMatchObject({
      ...{ code: 1, logged_in: false },
      stderr: expect.stringContaining('2 cookies for 127.0.0.1 have expired: sid, old\n'),
    })
  })

  it('visits pages with all that it has, and leaves nothing of it in the archive', async () => {
    writeFileSync(inPersona('cookies.txt'), COOKIES_TXT)
    writeFileSync(
      inPersona('persona.toml'),
      'ACCEPT_LANGUAGE = "de-DE,de;q=0.9"\nCHROME_TIMEZONE = "Asia/Tokyo"\nCHROME_RESOLUTION = "800,600"\n' +
        `USER_AGENT = "Tester"\n[headers."127.0.0.1"]\nX-Key = "${CANARY}-key"\n`,
    )
    const stored = [
      {
        origin: site.url,
        localStorage: [
          { name: 'token', value: CANARY },
          { name: 'tells', value: 'all that it knows' },
        ],
      },
    ]
    writeFileSync(inPersona('auth.json'), JSON.stringify({ origins: stored }))
    site.requests.length = 0
    const { code, stderr } = await home.run(['add', '--run', '--persona', 'Reader', `${site.url}/private`])
    expect(code, stderr).toBe(0)

    const [snapshot] = await records(home, ['snapshot', 'list'])
    const folder = join(home.dataDir, String(snapshot!['output_dir']))
    const dom = readFileSync(join(folder, 'dom', 'output.html'), 'utf8')
    expect(dom).toContain('de-DE Asia/Tokyo 800 Tester known')
    // The first one of each that the browser has made.
    const asked = (path: string) =>
      site.requests.find((request) => request.path === path && request.headers['sec-fetch-mode'])?.headers
    expect(asked('/private')).toMatchObject({
      ...{ 'x-key': `${CANARY}-key`, 'accept-language': 'de-DE,de;q=0.9', cookie: `sid=${SESSION}` },
    })
    expect(asked('/picture.png')).toMatchObject({ 'x-key': `${CANARY}-key` })
    for (const path of ['/elsewhere', '/elsewhere?direct'])
      expect(asked(path), path).toMatchObject({ 'user-agent': 'Tester' })
    const elsewhere = site.requests.filter(({ headers }) => headers.host?.startsWith('localhost'))
    expect(JSON.stringify(elsewhere)).not.toContain(CANARY)
    const files = readdirSync(home.dataDir, { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile() && !each.parentPath.startsWith(inPersona()))
      .map((each) => join(each.parentPath, each.name))
    expect(files.some((file) => file.endsWith('.warc.gz'))).toBe(true)
    const content = (file: string) => (file.endsWith('.gz') ? gunzipSync(readFileSync(file)) : readFileSync(file))
    expect(files.filter((file) => content(file).includes(CANARY))).toEqual([])
    expect(site.requests).toContainEqual(
      expect.objectContaining({ path: '/api', headers: expect.objectContaining({ 'x-auth-token': CANARY }) }),
    )
    // In the page, in a shadow root, and in the script that wrote them.
    expect(dom.match(/type="(?:password|hidden)"/g)).toHaveLength(12)
  })
})

it('a password or token in a URL is in no log and no line of progress, and the row keeps it', async () => {
  const key = `${CANARY}-in-url`
  const { host } = new URL(site.url)
  const urls = [`http://me:${key}@${host}/elsewhere`, `http://127.0.0.1:1/?token=${key}`, `${site.url}/gone?key=${key}`]
  const { stderr } = await home.run(['add', '--run', '-v', '--plugins', 'headers,html,title', ...urls])
  expect(stderr).toContain(`http://***@${host}/elsewhere`)
  expect(stderr).toContain('127.0.0.1:1/?token=***')
  expect(stderr).not.toContain(key)
  const logs = readdirSync(home.dataDir, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile() && /\.log$|std(?:err|out)/.test(each.name))
    .map((each) => join(each.parentPath, each.name))
  expect(logs.length).toBeGreaterThan(1)
  expect(logs.filter((file) => readFileSync(file).includes(key))).toEqual([])
  const kept = (await records(home, ['snapshot', 'list'])).map(({ url }) => url)
  expect(kept).toEqual(expect.arrayContaining(urls))
})
