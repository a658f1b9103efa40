import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { at, DEAD, files, json, read, run, snapshot, useHookRuns } from '../../support/hook-runs.ts'
import { RUSSIAN, startSite } from '../../support/site.ts'

useHookRuns()

describe('headers', () => {
  it('holds the chain, the answer and what was asked', async () => {
    await run('headers', at('/redirect-2'))
    expect(json('headers/headers.json')).toMatchObject({
      url: at('/redirect-2'),
      final_url: at('/'),
      status: 200,
      statusText: 'OK',
      redirects: [
        { url: at('/redirect-2'), status: 302, headers: { location: '/redirect-1' } },
        { url: at('/redirect-1'), status: 302, headers: { location: '/' } },
      ],
      headers: { 'content-type': 'text/html; charset=utf-8' },
      request_headers: { 'user-agent': expect.stringContaining('archivebox-ts') as string },
    })
  })

  it('keeps an HTTP error and never waits for a body', async () => {
    expect(await run('headers', at('/status-500'))).toMatchObject({ status: 'succeeded' })
    expect(json('headers/headers.json')).toMatchObject({ status: 500, statusText: 'Internal Server Error' })
    for (const path of ['/never-ends', '/slow', '/reset-body'])
      expect(await run('headers', at(path))).toMatchObject({ status: 'succeeded' })
  })

  it('joins repeated headers as browsers do, and takes any name', async () => {
    await run('headers', at('/odd-headers'), { USER_AGENT: 'somebody' })
    const record = JSON.parse(read('headers/headers.json'), (key, value: unknown) =>
      key === '__proto__' ? 'checked below' : value,
    ) as object
    expect(record).toMatchObject({
      headers: { 'set-cookie': 'a=1\nb=2', 'x-two': '1, 2' },
      request_headers: { 'user-agent': 'somebody' },
    })
    expect(read('headers/headers.json')).toContain('"__proto__": "x"')
  })
})

describe('html', () => {
  const output = () => readFileSync(join(snapshot, 'html/output.html'))

  it('keeps the bytes as they were served', async () => {
    expect(await run('html', at('/page-1.html'))).toMatchObject({ status: 'succeeded', output: 'html/output.html' })
    const served = Buffer.from(await (await fetch(at('/page-1.html'))).arrayBuffer())
    expect(output().equals(served)).toBe(true)
  })

  it.each([
    '/charset-declared',
    '/charset-wrong',
    '/charset-meta',
    '/charset-none',
    '/charset-weird',
    '/charset-utf16',
  ])('has the right characters: %s', async (path) => {
    await run('html', at(path))
    expect(await run('title', at(path))).toMatchObject({ status: 'succeeded', output: RUSSIAN })
    expect(read('title/title.txt')).toBe(RUSSIAN)
  })

  it.each(['/gzip', '/brotli'])('unpacks %s', async (path) => {
    await run('html', at(path))
    expect(output().toString()).toContain('<p>packed</p>')
  })

  it.each([
    ['/100mb', 'larger than 1 MB (HTML_MAX_SIZE); kept as far as it came: 1 MB', 'All work and no play. '],
    ['/100mb-declared', 'larger than 1 MB (HTML_MAX_SIZE)', undefined],
    ['/never-ends', 'larger than 1 MB (HTML_MAX_SIZE); kept as far as it came: 1 MB', 'All work and no play. '],
    ['/bomb.gz', 'larger than 1 MB (HTML_MAX_SIZE); kept as far as it came: 1 MB', 'aaaaaa'],
    ['/nothing.gz', 'larger than 1 MB (HTML_MAX_SIZE)', undefined],
    ['/slow', 'timed out after 2 s; kept as far as it came: ', 'x'],
    ['/reset-body', 'before the end of the body; kept as far as it came: 19 bytes', '<title>Half</title>'],
    ['/half.gz', 'before the end of the body; kept as far as it came: ', '<title>'],
    ['/gzip-broken', 'damaged compressed body', undefined],
  ])('fails at %s: %s, and keeps what came', async (path, reason, start) => {
    const env = { HTML_MAX_SIZE: '1mb', HTML_TIMEOUT: path === '/slow' ? '2' : '60' }
    const served = start === undefined ? undefined : 'html/truncated.html'
    const result = await run('html', at(path), env)
    expect(result).toMatchObject({ status: 'failed', output: expect.stringContaining(reason) as string })
    expect(result.json).toEqual({ http_status: 200, ...(served && { served, truncated: true }) })
    expect(files()).toEqual(served ? [served] : [])
    if (served) expect(read(served)).toMatch(new RegExp(`^${start}`))
  })

  it.each([
    [404, 'HTTP 404 Not Found'],
    [500, 'HTTP 500 Internal Server Error'],
  ])('keeps what is served with HTTP %i, under a name of its own', async (http_status, output) => {
    const served = 'html/error.html'
    expect(await run('html', at(`/status-${http_status}`))).toMatchObject({
      status: 'failed',
      output,
      json: { served, http_status },
    })
    expect(files()).toEqual([served])
    expect(await run('title', at(`/status-${http_status}`))).toMatchObject({ output: 'needs html, which failed' })
    await run('html', at('/page-1.html'))
    expect(files()).toEqual(['html/output.html'])
  })

  it('finds nothing in an empty page, and in what is no page', async () => {
    const nothing = { status: 'noresults', output: 'an empty answer (HTTP 200 OK)' }
    for (const path of ['/empty', '/blank']) expect(await run('html', at(path))).toMatchObject(nothing)
    expect(files()).toEqual([])
    expect(await run('html', at('/no-type'))).toMatchObject({ status: 'succeeded' })
    expect(await run('html', at('/photo.png'))).toMatchObject({ status: 'noresults', output: 'not HTML but image/png' })
  })

  it('overwrites what an earlier run left, and keeps it when the new run fails', async () => {
    await run('html', at('/page-1.html'))
    await run('html', at('/page-2.html'))
    expect(await run('html', at('/status-404'))).toMatchObject({ status: 'failed' })
    expect(output().toString()).toContain('<title>Page 2</title>')
  })
})

describe('staticfile', () => {
  it.each([
    ['/photo.png', 'staticfile/photo.png'],
    ['/notes.txt', 'staticfile/notes.txt'],
    ['/escape', 'staticfile/escape.pdf'],
    ['/attachment.html', 'staticfile/saved_page.html'],
  ])('saves %s as %s, with or without headers.json', async (path, output) => {
    expect(await run('staticfile', at(path))).toMatchObject({ status: 'succeeded', output })
    expect(files()).toEqual([output])
    await run('headers', at(path))
    expect(await run('staticfile', at(path))).toMatchObject({ status: 'succeeded', output })
    expect(files()).toEqual(['headers/headers.json', output])
  })

  it.each(['/page-1.html', '/no-type', '/status-404', '/empty'])('leaves %s to the others', async (path) => {
    expect(await run('staticfile', at(path))).toMatchObject({ status: 'noresults' })
    expect(files()).toEqual([])
  })

  it.each([
    ['/stream.bin', { STATICFILE_MAX_SIZE: '1mb' }, 'larger than 1 MB (STATICFILE_MAX_SIZE); kept as far as it came: '],
    ['/stream.bin', { STATICFILE_TIMEOUT: '2' }, 'timed out after 2 s; kept as far as it came: '],
    ['/half.bin', {}, 'before the end of the body; kept as far as it came: 100 bytes'],
  ])('keeps what came of %s with %o, under a name that says so', async (path, env, reason) => {
    const served = `staticfile/truncated-${path.slice(1)}`
    const result = await run('staticfile', at(path), env)
    expect(result).toMatchObject({ status: 'failed', output: expect.stringContaining(reason) as string })
    expect(result.json).toMatchObject({ served, truncated: true })
    expect(files()).toEqual([served])
  })
})

describe('what a server sends with an error instead of a file', () => {
  const served = 'staticfile/error-gone.pdf.txt'

  it.each([true, false])('has a name that says so, and nothing is taken from it; headers.json: %s', async (known) => {
    if (known) await run('headers', at('/gone.pdf'))
    expect(await run('staticfile', at('/gone.pdf'))).toMatchObject({
      ...{ status: 'failed', output: 'HTTP 404 Not Found', json: { served } },
    })
    expect(files()).toEqual(known ? ['headers/headers.json', served] : [served])
    expect(read(served)).toBe('Not found. See https://ads.example/buy')
    for (const plugin of ['parse_txt_urls', 'pdftext', 'exif'])
      expect(await run(plugin, at('/gone.pdf'))).toMatchObject({ output: 'needs staticfile, which failed' })
  })

  it('goes when the file comes, whose own name may begin like that', async () => {
    await run('staticfile', at('/gone.pdf'))
    await run('headers', at('/error-codes.txt'))
    expect(await run('staticfile', at('/error-codes.txt'))).toMatchObject({ status: 'succeeded' })
    expect(files()).toEqual(['headers/headers.json', 'staticfile/error-codes.txt'])
    expect(await run('parse_txt_urls', at('/error-codes.txt'))).toMatchObject({ output: '1 URLs parsed' })
  })
})

describe('favicon', () => {
  it.each([
    ['/icon.html', 'succeeded', 'favicon/favicon.svg'],
    ['/data-icon.html', 'succeeded', 'favicon/favicon.ico'],
    ['/bare.html', 'succeeded', 'favicon/favicon.ico'],
    ['/soft-404.html', 'noresults', 'not an image'],
  ])('of %s: %s, %s', async (path, status, output) => {
    await run('html', at(path))
    expect(await run('favicon', at(path))).toMatchObject({ status, output: expect.stringContaining(output) as string })
  })

  it('is none when the site has none, and fails when the site cannot be asked', async () => {
    const bare = await startSite({ '/': '<title>No icon</title>' })
    try {
      expect(await run('favicon', `${bare.url}/`)).toMatchObject({
        status: 'noresults',
        output: 'no icon: HTTP 404 Not Found',
      })
      expect(bare.hits('/favicon.ico')).toBe(1)
    } finally {
      await bare.close()
    }
    expect(await run('favicon', DEAD)).toMatchObject({ status: 'failed', output: 'connection refused by 127.0.0.1:1' })
  })

  it('replaces an icon of the other kind', async () => {
    await run('html', at('/icon.html'))
    await run('favicon', at('/icon.html'))
    await run('html', at('/bare.html'))
    await run('favicon', at('/bare.html'))
    expect(files(join(snapshot, 'favicon'))).toEqual(['favicon.ico'])
  })
})
