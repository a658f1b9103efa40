import { expect, it } from 'vitest'
import { hasUrlSecrets, withoutUrlSecrets } from '../../../src/base/url-secrets.ts'

it.each([
  ['https://user:p@ss@host.example/a', 'https://***@host.example/a'],
  ['https://user@host.example', 'https://***@host.example'],
  ['https://a.example/?token=T&page=2', 'https://a.example/?token=***&page=2'],
  ['https://a.example/?a=1&access_token=T#x', 'https://a.example/?a=1&access_token=***#x'],
  ['https://a.example/cb#id_token=T&state=1', 'https://a.example/cb#id_token=***&state=1'],
  ['https://a.example/?Access%5FToken=T', 'https://a.example/?Access%5FToken=***'],
  ['https://a.example/f;jsessionid=T?x=1', 'https://a.example/f;jsessionid=***'],
  [
    'https://s3.example/o?X-Amz-Signature=T&X-Amz-Credential=T&X-Amz-Date=T',
    'https://s3.example/o?X-Amz-Signature=***&X-Amz-Credential=***&X-Amz-Date=***',
  ],
  ["https://a.example/it's?token=T", "https://a.example/it's?token=***"],
  ['https://a.example/?a=`&token=T', 'https://a.example/?a=`&token=***'],
  ["https://user:pa'ss@a.example/", 'https://***@a.example/'],
  ['https://a.example/?to=https%3A%2F%2Fb.example%2F%3Fsig%3DT', 'https://a.example/?to=***'],
  ['https://web.example/save/https://u:p@b.example/?key=T', 'https://web.example/save/https://***@b.example/?key=***'],
])('what lets somebody in is masked: %s', (url, masked) => {
  expect(withoutUrlSecrets(url)).toBe(masked)
  expect(withoutUrlSecrets(`see ${url}: refused`)).toContain(masked)
  expect(withoutUrlSecrets(masked)).toBe(masked)
  expect(hasUrlSecrets(url)).toBe(true)
})

it.each(
  [
    ...['api_key', 'apikey', 'api-key', 'key', 'sig', 'signature', 'code', 'session', 'auth', 'password', 'jwt'],
    ...[
      'PHPSESSID',
      'sessionId',
      'refresh_token',
      'csrfToken',
      'client_secret',
      'secret_key',
      'authkey',
      'access_token[]',
      'X-Goog-Signature',
      'AWSAccessKeyId',
    ],
  ].map((name) => [name]),
)('the parameter %s is one of these', (name) => {
  expect(withoutUrlSecrets(`https://a.example/?${name}=T`)).toBe(`https://a.example/?${name}=***`)
})

it.each([
  'https://a.example/?page=2&q=token&country_code=de&keyword=x#code',
  'https://a.example/user@host?mail=a@b.example',
  'https://a.example/?token=',
  'mailto:a@b.example?key=1 is no URL of the web',
  'plain text, key=1',
])('all else stays: %s', (text) => {
  expect(withoutUrlSecrets(text)).toBe(text)
  expect(hasUrlSecrets(text.replace(/^mailto.*|^plain.*/, 'https://a.example/'))).toBe(false)
})
