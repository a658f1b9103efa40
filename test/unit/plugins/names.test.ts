import { describe, expect, it } from 'vitest'
import { count, flag, list, sizeLimit, sizeText, timeoutSeconds } from '../../../src/base/env-settings.ts'
import { storableLine } from '../../../src/base/storable-line.ts'
import { ChainCookies } from '../../../src/browse/http/cookies.ts'
import { fileName } from '../../../src/browse/http/file-name.ts'
import { recordStamp, resultRecord, snapshotDepth } from '../../../src/hooks/result-record.ts'
import { merkleRoot } from '../../../src/plugins/hashes/merkle-root.ts'
import { failureReason, isAnswered, savedPage } from '../../../src/plugins/wget/wget-log.ts'

describe('the name of a downloaded file', () => {
  it.each([
    ['http://a.test/dir/report.pdf?x=1', undefined, 'application/pdf', 'report.pdf'],
    ['http://a.test/download', undefined, 'application/pdf', 'download.pdf'],
    ['http://a.test/', undefined, 'image/png', 'downloaded_file.png'],
    ['http://a.test/%D0%BC%D0%B0%D1%8F%D0%BA.png', undefined, 'image/png', 'маяк.png'],
    ['http://a.test/%E0%A4%A', undefined, 'text/plain', 'E0_A4_A.txt'],
    ['http://a.test/a%2F..%2F..%2Fetc%2Fpasswd', undefined, '', 'passwd'],
    ['http://a.test/x', 'attachment; filename="../../evil.sh"', '', 'evil.sh'],
    ['http://a.test/x', 'attachment; filename="..\\\\..\\\\evil.exe"', '', 'evil.exe'],
    ['http://a.test/x', 'attachment; filename=".."', 'application/pdf', 'downloaded_file.pdf'],
    ['http://a.test/x', "attachment; filename=plain.txt; filename*=UTF-8''na%C3%AFve%20plan.txt", '', 'naïve_plan.txt'],
    ['http://a.test/x', "attachment; filename*=latin1''%E4.txt; filename=a.txt", '', 'a.txt'],
    ['http://a.test/x', 'attachment; filename="a\0b\nc.txt"', '', 'a_b_c.txt'],
    ['http://a.test/.htaccess', undefined, 'text/plain', 'downloaded_file.htaccess'],
    ['http://a.test/stdout.log', undefined, 'text/plain', 'stdout.log.txt'],
    ['http://a.test/cmd.sh', undefined, '', 'cmd.sh.txt'],
    ['http://a.test/%25%23%3F.pdf', undefined, '', 'downloaded_file.pdf'],
    ['http://a.test/constructor', undefined, 'constructor', 'constructor'],
  ])('of %s with %s (%s) is %s', (url, disposition, mime, expected) => {
    expect(fileName(url, disposition, mime)).toBe(expected)
  })

  it('is always one component of at most 200 bytes, and keeps its extension', () => {
    for (const raw of ['x'.repeat(300), 'ä'.repeat(300), '😀'.repeat(300), '字'.repeat(300)]) {
      const name = fileName(`http://a.test/${encodeURIComponent(raw)}.pdf`, undefined, 'application/pdf')
      expect(Buffer.byteLength(name)).toBeLessThanOrEqual(200)
      expect(name).toMatch(/pdf$/)
      expect(name).not.toMatch(/[/\\\0]|^\./)
      expect(name.isWellFormed()).toBe(true)
    }
  })
})

describe('the settings of a plugin', () => {
  it('have their own timeout before the general one, and 60 seconds without any', () => {
    expect(timeoutSeconds({}, 'TITLE')).toBe(60)
    expect(timeoutSeconds({ TIMEOUT: '7' }, 'TITLE')).toBe(7)
    expect(timeoutSeconds({ TIMEOUT: '7', TITLE_TIMEOUT: '0.5' }, 'TITLE')).toBe(0.5)
    expect(timeoutSeconds({ TIMEOUT: '0', TITLE_TIMEOUT: '' }, 'TITLE')).toBe(60)
    expect(timeoutSeconds({ TIMEOUT: '1e9' }, 'TITLE')).toBe(43_200)
    expect(() => timeoutSeconds({ TIMEOUT: 'soon' }, 'TITLE')).toThrow('TIMEOUT is not a number of seconds: soon')
  })

  it('take sizes as bytes and with a unit', () => {
    const bytes = (value: string) => sizeLimit({ X: value }, 'X', 1).bytes
    expect([bytes('1000'), bytes('50mb'), bytes('1.5 GB'), bytes('2KiB'), bytes(' ')]).toEqual([
      1000, 52_428_800, 1_610_612_736, 2048, 1,
    ])
    expect(() => bytes('much')).toThrow('X is not a size: much')
    expect([sizeText(812), sizeText(7270), sizeText(52_428_800)]).toEqual(['812 bytes', '7.1 kB', '50 MB'])
  })

  it('take flags, lists and counts as ArchiveBox writes them', () => {
    expect(['True', '1', 'yes', 'ON'].every((value) => flag({ X: value }, 'X', false))).toBe(true)
    expect(['False', '0', 'no', 'off'].some((value) => flag({ X: value }, 'X', true))).toBe(false)
    expect(flag({ X: '' }, 'X', true)).toBe(true)
    expect(list({ X: '["a b","c"]' }, 'X', [])).toEqual(['a b', 'c'])
    expect(list({ X: 'a, b,' }, 'X', [])).toEqual(['a', 'b'])
    expect(() => list({ X: '[oops' }, 'X', [])).toThrow('X is not a JSON array')
    expect(count({ X: '12' }, 'X', 1)).toBe(12)
    expect(() => count({ X: '-1' }, 'X', 1)).toThrow('X is not a number')
  })
})

describe('the records of a hook', () => {
  it('carry EXTRA_CONTEXT, and their own keys win', () => {
    const env = { EXTRA_CONTEXT: '{"snapshot_id":"s","snapshot_depth":2,"depth":9}' }
    expect(recordStamp(env)({ type: 'Snapshot', depth: 3 })).toEqual({
      snapshot_id: 's',
      snapshot_depth: 2,
      type: 'Snapshot',
      depth: 3,
    })
    expect(snapshotDepth(env)).toBe(2)
  })

  it.each([undefined, '', 'no json', '[]', '"text"', 'null', '{"snapshot_depth":"many"}'])(
    'survive the EXTRA_CONTEXT %j',
    (value) => {
      expect(snapshotDepth({ EXTRA_CONTEXT: value })).toBe(0)
      expect(resultRecord({ status: 'succeeded', output: 'x' }, { EXTRA_CONTEXT: value })).toMatchObject({
        type: 'ArchiveResult',
        output_str: 'x',
      })
    },
  )

  it('hold text that every database takes', () => {
    expect(storableLine(' a\0b\r\n\tc\u2028d ')).toBe('a b c d')
    expect(storableLine('😀😀', 3)).toBe('😀…')
    expect(storableLine('x'.repeat(9999)).length).toBe(2000)
  })
})

describe('the cookies of a redirect chain', () => {
  it('go back to the host that set them, and to its site when they say so', async () => {
    const jar = new ChainCookies()
    await jar.take(
      ['a=1; Path=/', 'b=2; Domain=.site.test', 'c=3; Domain=evil.test', 'd=4; Domain=test'],
      new URL('https://www.site.test/'),
    )
    expect(jar.header(new URL('https://www.site.test/'))).toBe('a=1; b=2')
    expect(jar.header(new URL('https://idp.site.test/'))).toBe('b=2')
    expect(jar.header(new URL('https://evil.test/'))).toBe('')
    expect(jar.header(new URL('https://xsite.test/'))).toBe('')
  })

  it('begin with those of the persona, each by its host, path, transport and time, until a server sets others', async () => {
    const cookie = { path: '/', hostOnly: true, secure: false, httpOnly: true, expires: undefined, sameSite: undefined }
    const jar = await ChainCookies.with([
      { ...cookie, name: 'own', value: '1', domain: 'site.test' },
      { ...cookie, name: 'wide', value: '2', domain: 'site.test', hostOnly: false, sameSite: 'Strict' },
      { ...cookie, name: 'safe', value: '3', domain: 'site.test', secure: true, expires: 4e9 },
      { ...cookie, name: 'deep', value: '4', domain: 'site.test', path: '/in' },
      { ...cookie, name: 'old', value: '5', domain: 'site.test', expires: 1 },
      { ...cookie, name: 'local', value: '6', domain: '127.0.0.1' },
      { ...cookie, name: 'other', value: '7', domain: 'else.test' },
    ])
    const sent = (url: string) => jar.header(new URL(url)).split('; ').sort().join(' ')
    expect(sent('https://site.test/in/')).toBe('deep=4 own=1 safe=3 wide=2')
    expect(sent('http://site.test/inside')).toBe('own=1 wide=2')
    expect(sent('http://www.site.test/')).toBe('wide=2')
    expect(sent('http://127.0.0.1:8080/')).toBe('local=6')
    await jar.take(['own=new', 'wide=; Max-Age=0; Domain=site.test'], new URL('http://site.test/'))
    expect(sent('http://site.test/')).toBe('own=new')
  })

  it('go to another site than that of the page that needs it where SameSite allows it', async () => {
    const cookie = { value: '1', path: '/', hostOnly: false, secure: false, httpOnly: true, expires: undefined }
    const kinds = ['Strict', 'Lax', 'None', undefined] as const
    const all = kinds.map((sameSite) => ({ ...cookie, name: `${sameSite}`, domain: 'site.test', sameSite }))
    const sent = async (page?: string) => {
      const chain = await ChainCookies.with(all, page === undefined ? undefined : new URL(page))
      return chain.header(new URL('http://img.site.test/')).replaceAll('=1', '')
    }
    expect(await sent()).toBe('Strict; Lax; None; undefined')
    expect(await sent('https://www.site.test/')).toBe('Strict; Lax; None; undefined')
    for (const other of ['https://else.test/', 'http://127.0.0.1/']) expect(await sent(other)).toBe('None; undefined')
  })
})

describe('the root of the hashes', () => {
  it('is that of ArchiveBox: hex digests joined in pairs, an odd one with itself', () => {
    // python3 -c "import hashlib; h=lambda s: hashlib.sha256(s.encode()).hexdigest();
    // print(h(h('aa'+'bb')+h('cc'+'cc')))"
    expect(merkleRoot(['aa', 'bb', 'cc'])).toBe('0cbe39bd48cba9a69ee1e0cf4c002a3a80810e37b63b0b8b30f948cc3d660641')
    expect(merkleRoot(['aa'])).toBe('aa')
    expect(merkleRoot([])).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  })
})

describe('what wget says', () => {
  it('names the page first', () => {
    const log =
      '2026-11-21 05:28:50 URL:http://h/ [161/161] -> "h/index.html" [1]\n2026-11-21 05:28:50 URL:http://h/s.css [6/6] -> "h/s.css" [1]\n'
    expect(savedPage(log)).toBe('h/index.html')
    expect(savedPage('failed: Connection refused.\n')).toBeUndefined()
    expect(isAnswered(`  HTTP/1.1 200 OK\n${log}`)).toBe(true)
    // What comes later is an answer for something else.
    expect(isAnswered(log.replace('\n', '\n  HTTP/1.1 200 OK\n'))).toBe(false)
  })

  it.each([
    ['http://h/nope:\n2026-11-21 05:28:50 ERROR 404: Not Found.\n', 8, 'HTTP 404 Not Found'],
    ['failed: Connection refused.\n', 4, 'connection refused by h:1'],
    ['wget: unable to resolve host address ‘h’\n', 4, 'host not found: h:1'],
    ['20 redirections exceeded.\n', 8, 'more than 20 redirects'],
    ['No data received.\nNo data received.\n', 4, 'connection closed by h:1 before it answered'],
    ['wget: something new\n', 5, 'something new (wget: exit code 5)'],
    ['', null, 'wget: killed by SIGKILL'],
  ])('%j gives the reason', (log, code, reason) => {
    expect(failureReason({ code, signal: code === null ? 'SIGKILL' : null, log }, 'http://h:1/')).toBe(reason)
  })
})
