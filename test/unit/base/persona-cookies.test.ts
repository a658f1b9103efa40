import { describe, expect, it } from 'vitest'
import { UsageError } from '../../../src/base/errors.ts'
import type { Cookie } from '../../../src/browse/persona/cookie.ts'
import { merged } from '../../../src/browse/persona/cookie.ts'
import { parseCookiesJson } from '../../../src/browse/persona/cookies-json.ts'
import { formatCookiesTxt, parseCookiesTxt } from '../../../src/browse/persona/cookies-txt.ts'
import { headersFor } from '../../../src/browse/persona/headers.ts'
import { settingsIn } from '../../../src/browse/persona/persona.ts'

const SECRET = 'hush-hush'
const plain: Cookie = {
  ...{ name: 'sid', value: SECRET, domain: 'example.com', path: '/', hostOnly: false },
  ...{ secure: true, httpOnly: false, expires: 1_900_000_000, sameSite: undefined },
}
const row = (...fields: string[]) => fields.join('\t')

/** The refusal of a text; it may not quote what is secret. */
async function refusal(read: () => unknown): Promise<string> {
  try {
    await read()
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError)
    expect(String(error)).not.toContain(SECRET)
    return (error as Error).message
  }
  return 'none'
}

describe('cookies.txt', () => {
  it('is read as curl, wget and browser extensions write it', () => {
    const text = [
      '\ufeff# Netscape HTTP Cookie File',
      '',
      row('.example.com', 'TRUE', '/', 'TRUE', '1900000000', 'sid', SECRET),
      row('#HttpOnly_example.com', 'FALSE', '/in', 'FALSE', '0', 'session', 'a=b c'),
      row('Example.com', 'FALSE', '/', 'FALSE', '1.9e9', 'empty'),
      '# plain comment',
    ].join('\r\n')
    expect(parseCookiesTxt(text, 'f')).toEqual([
      plain,
      {
        ...plain,
        name: 'session',
        value: 'a=b c',
        path: '/in',
        hostOnly: true,
        secure: false,
        httpOnly: true,
        expires: undefined,
      },
      { ...plain, name: 'empty', value: '', hostOnly: true, secure: false },
    ])
  })

  it('keeps all that is known of a cookie, and the next one is not taken for it', () => {
    const cookies: Cookie[] = [
      { ...plain, httpOnly: true, sameSite: 'None' },
      { ...plain, name: 'b' },
      { ...plain, name: 'c', sameSite: 'Lax', expires: undefined, hostOnly: true },
    ]
    const text = formatCookiesTxt(cookies)
    expect(parseCookiesTxt(text, 'f')).toEqual(cookies)
    // Programs that take each line with a hash for a comment have all cookies, too.
    expect(text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))).toHaveLength(3)
  })

  it.each([
    [`example.com FALSE / FALSE 0 sid ${SECRET}`, 'f, line 2: a cookie has 7 fields between tabs, this line has 1'],
    [row('a.test', 'TRUE', '/', 'TRUE', 'soon', 'sid', SECRET), 'f, line 2: the expiry time is not a number'],
    [
      row('a.test', 'TRUE', '/', 'TRUE', '0', '\x1b[2J', SECRET),
      'f, line 2: a cookie must not contain control characters',
    ],
    [row('', 'TRUE', '/', 'TRUE', '0', 'sid', SECRET), 'f, line 2: no domain'],
  ])('with the line %j is refused', async (line, why) => {
    expect(await refusal(() => parseCookiesTxt(`# x\n${line}\n`, 'f'))).toBe(why)
  })
})

describe('cookies in JSON', () => {
  it('are read as extensions, puppeteer and Playwright write them', () => {
    const extension = {
      ...{ domain: '.example.com', expirationDate: 1_900_000_000.5, hostOnly: false, httpOnly: false, name: 'sid' },
      ...{ path: '/', sameSite: 'no_restriction', secure: true, session: false, value: SECRET },
    }
    const playwright = {
      cookies: [
        { name: 's', value: 'v', domain: 'example.com', path: '/', expires: -1, httpOnly: true, sameSite: 'Lax' },
      ],
      origins: [
        { origin: 'https://example.com', localStorage: [{ name: 'token', value: SECRET }] },
        null,
        { origin: 1 },
      ],
    }
    expect(parseCookiesJson(`\ufeff${JSON.stringify([extension])}`, 'f').cookies).toEqual([
      { ...plain, sameSite: 'None' },
    ])
    const { cookies, origins } = parseCookiesJson(JSON.stringify(playwright), 'f')
    expect(cookies).toMatchObject([{ name: 's', hostOnly: true, httpOnly: true, expires: undefined, sameSite: 'Lax' }])
    expect(origins).toEqual([playwright.origins[0]])
    const times = [1_900_000_000_000, '2030-03-17T17:46:40.000Z', '1900000000']
    const dated = times.map((expires) => ({ name: 'a', value: '', url: 'https://example.com/x', expires }))
    for (const { expires, domain } of parseCookiesJson(JSON.stringify(dated), 'f').cookies)
      expect({ expires, domain }).toEqual({ expires: 1_900_000_000, domain: 'example.com' })
  })

  it.each([
    [`[{"name": "${SECRET}`, /^f is not valid JSON/],
    [JSON.stringify({ a: SECRET }), /^f has no cookies$/],
    [JSON.stringify([{ name: 'a', value: SECRET }]), /^f, cookie 1: it lacks a name, a value or a domain$/],
    [
      JSON.stringify([{ name: 'a', value: `${SECRET}\n`, domain: 'x' }]),
      /^f, cookie 1: a cookie must not contain control characters$/,
    ],
  ])('that are wrong are refused: %s', async (text, why) => {
    expect(await refusal(() => parseCookiesJson(text, 'f'))).toMatch(why)
  })
})

it('a cookie replaces the one of the same name, domain and path', () => {
  const other = { ...plain, path: '/in' }
  expect(merged([plain, other], [{ ...plain, value: 'new' }])).toEqual([{ ...plain, value: 'new' }, other])
})

describe('persona.toml', () => {
  it('has settings, and headers that go to their host only', async () => {
    const tables = `[headers."example.com"]\nX-Key = "${SECRET}"\n[headers."example.com:8080"]\nX-Port = 8\n`
    const text = `USER_AGENT = "me"\n${tables}`
    const { settings, headers } = await settingsIn(text, 'f')
    expect(settings).toEqual({ USER_AGENT: 'me' })
    expect(headersFor(headers, new URL('https://example.com/'))).toEqual({ 'x-key': SECRET })
    expect(headersFor(headers, new URL('http://example.com:8080/'))).toEqual({ 'x-key': SECRET, 'x-port': '8' })
    for (const url of ['https://www.example.com/', 'https://example.com.evil.test/', 'https://evil.test/example.com'])
      expect(headersFor(headers, new URL(url))).toEqual({})
  })

  it.each([
    [`[headers."example.com"]\nX-Key = "${SECRET}`, /^f is not valid TOML \(line 2\)$/],
    [`headers = "${SECRET}"`, /^f, headers: headers belong in tables/],
    [`[headers.example.com]\nX = "${SECRET}"`, /^f, headers\.example: a host stands in quotes/],
    [`[headers."https://example.com/"]\nX = "${SECRET}"`, /not a host: write example\.com/],
    [`[headers."example.com"]\n"X Y" = "${SECRET}"`, /X Y is not a valid header name$/],
    [`[headers."example.com"]\nX = "${SECRET}\\n"`, /X has an invalid value$/],
  ])('that is wrong is refused: %j', async (text, why) => {
    expect(await refusal(() => settingsIn(text, 'f'))).toMatch(why)
  })
})
