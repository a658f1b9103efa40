import { describe, expect, it } from 'vitest'
import { archivableUrl, domainOf, urlFilter } from '../../../src/base/urls.ts'

describe('archivableUrl', () => {
  it.each([
    ['http://Example.COM', 'http://example.com/'],
    ['  https://example.com/a b?q=ä \n', 'https://example.com/a%20b?q=%C3%A4'],
    ['\u202ahttps://example.com/\u200b\u2060 \ufeff', 'https://example.com/'],
    ['http://example.com:80/', 'http://example.com/'],
    ['https://example.com:443/x', 'https://example.com/x'],
    ['https://example.com:8443/x', 'https://example.com:8443/x'],
    ['http://example.com/a/../b/./c', 'http://example.com/b/c'],
    ['HTTP://example.com/Path?Query', 'http://example.com/Path?Query'],
    ['http://bücher.example/', 'http://xn--bcher-kva.example/'],
    ['http://2130706433/', 'http://127.0.0.1/'],
    ['http://[::1]:8080/', 'http://[::1]:8080/'],
  ])('brings %j into its one form', (text, url) => {
    expect(archivableUrl(text)).toBe(url)
    expect(archivableUrl(url)).toBe(url)
  })

  it('drops the fragment, and only that', () => {
    for (const text of ['http://example.com/a?b=c', 'http://example.com/a?b=c#', 'http://example.com/a?b=c#d?e#f'])
      expect(archivableUrl(text)).toBe('http://example.com/a?b=c')
    expect(archivableUrl('http://example.com/a%23b')).toBe('http://example.com/a%23b')
  })

  it('cannot be broken into several lines: a crawl keeps its URLs one a line', () => {
    expect(archivableUrl('http://example.com/a\nhttp://evil.example/')).not.toMatch(/\s/)
    expect(archivableUrl('http://example.com/\u0000\t\r')).not.toMatch(/[\p{Cc}\s]/u)
  })

  it.each([
    '',
    ' ',
    'example.com',
    '/path',
    'http://',
    'https://?',
    'http://a b/',
    'http://example.com:99999/',
    'http://exa\u0000mple.com/',
  ])('refuses %j: not a URL', (text) => {
    expect(() => archivableUrl(text)).toThrow(/^not a URL: /)
  })

  it.each([
    'ftp://example.com/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'data:text/html,x',
    'mailto:a@example.com',
    'about:blank',
  ])('refuses %s: only http and https', (text) => {
    expect(() => archivableUrl(text)).toThrow(/^only http and https can be archived: /)
  })

  it('takes 8192 characters and not one more, and complains in few words', () => {
    const start = 'http://example.com/'
    const longest = start.padEnd(8192, 'x')
    expect(archivableUrl(longest)).toBe(longest)
    const complaint = messageOf(() => archivableUrl(`${longest}x`))
    expect(complaint).toMatch(/longer than 8192/)
    expect(complaint.length).toBeLessThan(200)
    expect(messageOf(() => archivableUrl('x'.repeat(8000))).length).toBeLessThan(300)
  })
})

describe('domainOf', () => {
  it.each([
    ['https://example.com/a', 'example.com'],
    ['http://example.com:8080/', 'example.com_8080'],
    ['https://user:password@example.com/', 'example.com'],
    ['http://xn--bcher-kva.example/', 'xn--bcher-kva.example'],
    ['http://[::1]:8080/', '___1__8080'],
    ['http://under_score.example/', 'under_score.example'],
    ['http://../', '_'],
    ['http://.hidden.example/', '_hidden.example'],
  ])('names the folder of %s', (url, name) => {
    expect(domainOf(url)).toBe(name)
  })

  it('is one short path step, whatever the host', () => {
    for (const url of [
      `http://${'a'.repeat(60)}.${'b'.repeat(60)}.example/`,
      'http://example.com/../../x',
      'http://a%2fb.example.%2e/',
    ])
      if (URL.canParse(url)) expect(domainOf(url)).toMatch(/^[\w.-]{1,100}$/)
  })
})

describe('urlFilter', () => {
  /** Which of `urls` are inside. */
  const inside = (allow: string, deny: string, urls: readonly string[]) => urls.filter(urlFilter(allow, deny))

  it('lets everything in without lists', () => {
    const urls = ['http://a.example/', 'https://b.example/c']
    expect(inside('', '', urls)).toEqual(urls)
    expect(inside(' , \n', ',', urls)).toEqual(urls)
  })

  it('takes a name for a domain and its subdomains, not for a part of a name', () => {
    const urls = ['http://example.com/', 'https://www.example.com/x', 'http://a.b.example.com/']
    const others = [
      'http://notexample.com/',
      'http://example.com.evil.example/',
      'http://evil.example/example.com',
      'http://example.org/',
    ]
    expect(inside('example.com', '', [...urls, ...others])).toEqual(urls)
    expect(inside('EXAMPLE.com', '', [...urls, ...others])).toEqual(urls)
    expect(inside('', 'example.com', [...urls, ...others])).toEqual(others)
  })

  it('takes *.name for its subdomains only', () => {
    expect(
      inside('*.example.com', '', ['http://example.com/', 'http://www.example.com/', 'http://a.b.example.com/']),
    ).toEqual(['http://www.example.com/', 'http://a.b.example.com/'])
  })

  it('takes name:port for that port, the usual ones included', () => {
    const urls = [
      'http://example.com/',
      'https://example.com/',
      'http://example.com:8080/',
      'https://www.example.com:8080/',
    ]
    expect(inside('example.com:8080', '', urls)).toEqual(['http://example.com:8080/', 'https://www.example.com:8080/'])
    expect(inside('example.com:80', '', urls)).toEqual(['http://example.com/'])
    expect(inside('example.com:443', '', urls)).toEqual(['https://example.com/'])
  })

  it('takes anything else for a regular expression on the whole URL', () => {
    const urls = ['http://a.example/blog/1', 'http://a.example/shop/1', 'https://b.example/blog/2']
    expect(inside('/blog/', '', urls)).toEqual(['http://a.example/blog/1', 'https://b.example/blog/2'])
    expect(inside('^https://', '', urls)).toEqual(['https://b.example/blog/2'])
    expect(inside('/blog/\\d$', '^https', urls)).toEqual(['http://a.example/blog/1'])
  })

  it('answers the same each time it is asked', () => {
    const filter = urlFilter('/blog/', '')
    expect([1, 2, 3].map(() => filter('http://a.example/blog/'))).toEqual([true, true, true])
  })

  it('denies first: what both lists name is outside', () => {
    const urls = ['http://example.com/', 'http://private.example.com/', 'http://other.example/']
    expect(inside('example.com', 'private.example.com', urls)).toEqual(['http://example.com/'])
  })

  it('joins patterns by commas and lines, each of which is enough', () => {
    const urls = ['http://a.example/', 'http://b.example/', 'http://c.example/', 'http://d.example/']
    expect(inside('a.example, b.example\nc.example', '', urls)).toEqual(urls.slice(0, 3))
    expect(inside('', 'a.example,\n/^no match$/,d.example', urls)).toEqual(urls.slice(1, 3))
  })

  it('matches nothing with an expression that does not compile: an allow list of it alone lets nothing in', () => {
    expect(inside('(', '', ['http://a.example/'])).toEqual([])
    expect(inside('(,a.example', '', ['http://a.example/'])).toEqual(['http://a.example/'])
    expect(inside('', '[', ['http://a.example/'])).toEqual(['http://a.example/'])
  })
})

function messageOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('it did not throw')
}
