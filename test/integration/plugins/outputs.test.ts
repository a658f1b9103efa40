import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { withPrograms } from '../../support/bare-path.ts'
import { at, DEAD, files, json, read, run, snapshot, useHookRuns } from '../../support/hook-runs.ts'
import { startSite } from '../../support/site.ts'

const WGET = withPrograms('wget')
useHookRuns()

describe('parse_html_urls', () => {
  it('emits a Snapshot record for each link, one level deeper, and writes the same to urls.jsonl', async () => {
    await run('headers', at('/redirect-1'))
    await run('html', at('/redirect-1'))
    const { records, output } = await run('parse_html_urls', at('/redirect-1'), {
      EXTRA_CONTEXT: '{"snapshot_depth":2}',
    })
    expect(output).toBe('3 URLs parsed')
    expect(records).toEqual(
      ['/page-1.html', '/page-2.html', '/page-3.html'].map((path) => ({
        type: 'Snapshot',
        url: at(path),
        plugin: 'parse_html_urls',
        depth: 3,
      })),
    )
    expect(
      read('parse_html_urls/urls.jsonl')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(records)
  })

  it('takes them from where a script led the browser, and else from where the server led us', async () => {
    const linksOf = async () => (await run('parse_html_urls', at('/start'))).records.map(({ url }) => url)
    const put = (file: string, text: string) => {
      mkdirSync(join(snapshot, file, '..'), { recursive: true })
      writeFileSync(join(snapshot, file), text)
    }
    put('headers/headers.json', JSON.stringify({ final_url: at('/led/here'), status: 200, headers: {} }))
    put('html/output.html', '<p><a href="as-served.html">')
    put('chrome/navigation.json', JSON.stringify({ final_url: at('/de/guide/index.html') }))
    expect(await linksOf()).toEqual([at('/led/as-served.html')])
    put('dom/output.html', '<p><a href="chapter1.html">')
    expect(await linksOf()).toEqual([at('/de/guide/chapter1.html')])
    for (const record of ['{"final_url":"about:blank"}', 'null', '{"fin']) {
      put('chrome/navigation.json', record)
      expect(await linksOf()).toEqual([at('/led/chapter1.html')])
    }
  })

  it('takes ten thousand links, or as many as it may', async () => {
    expect((await run('parse_html_urls', at('/links.html'))).records).toHaveLength(10_000)
    const { records, output } = await run('parse_html_urls', at('/links.html'), { PARSE_HTML_URLS_MAX_URLS: '5' })
    expect([records.length, output]).toEqual([5, '5 URLs parsed (PARSE_HTML_URLS_MAX_URLS)'])
  })

  it('says noresults when there are none', async () => {
    expect(await run('parse_html_urls', at('/bare.html'))).toMatchObject({
      status: 'noresults',
      output: '0 URLs parsed',
    })
  })
})

describe('hashes', () => {
  it('lists every file of every plugin, follows no symlinks, and leaves out what is not output', async () => {
    for (const dir of ['a', 'b/deep/.well-known', '.attempts', 'hashes'])
      mkdirSync(join(snapshot, dir), { recursive: true })
    writeFileSync(join(snapshot, 'a/one'), 'one')
    writeFileSync(join(snapshot, 'a/large'), Buffer.alloc(5 * 1024 * 1024, 7))
    writeFileSync(join(snapshot, 'b/deep/.well-known/two'), '')
    for (const path of ['.attempts/log', 'index.html', 'hashes/old.json'])
      writeFileSync(join(snapshot, path), 'not output')
    symlinkSync('/etc/passwd', join(snapshot, 'a/link'))
    symlinkSync('/etc', join(snapshot, 'b/dir'))

    expect(await run('hashes', at('/'))).toMatchObject({
      status: 'succeeded',
      output: expect.stringMatching(/^3 files, 5 MB, /) as string,
    })
    const found = json('hashes/hashes.json') as {
      root_hash: string
      files: { path: string; size: number; sha256: string }[]
      metadata: object
    }
    expect(found.files.map((file) => file.path)).toEqual(['a/large', 'a/one', 'b/deep/.well-known/two'])
    for (const { path, size, sha256 } of found.files) {
      const content = readFileSync(join(snapshot, path))
      expect([size, sha256]).toEqual([content.length, createHash('sha256').update(content).digest('hex')])
    }
    expect(found.metadata).toEqual({ file_count: 3, total_size: 5 * 1024 * 1024 + 3 })
  })
})

describe('wget', () => {
  it('is skipped with the command that installs it when it is missing', async () => {
    const install = process.platform === 'darwin' ? 'brew install wget' : 'apt-get install wget'
    expect(await run('wget', at('/'), { PATH: snapshot })).toMatchObject({
      status: 'skipped',
      output: `wget not found: ${install}`,
    })
    expect(await run('wget', at('/'), { WGET_BINARY: '/no/such/wget' })).toMatchObject({ status: 'skipped' })
  })
})

describe.skipIf(WGET.missing)(`wget, when it is there ${WGET.missing || ''}`, () => {
  const PATH = { PATH: WGET.path }

  it('saves the page, its picture and a WARC', async () => {
    const result = await run('wget', at('/page-1.html'), PATH)
    expect(result).toMatchObject({
      status: 'succeeded',
      output: expect.stringMatching(/^wget\/127\.0\.0\.1\+\d+\/page-1\.html$/) as string,
    })
    expect(read(result.output)).toContain('<title>Page 1</title>')
    expect(files().map((path) => path.replace(/\d{4,}/, 'N'))).toEqual([
      'wget/127.0.0.1+N/page-1.html',
      'wget/127.0.0.1+N/page-1.html.orig',
      'wget/127.0.0.1+N/picture.png',
      'wget/warc/N.warc.gz',
    ])
  })

  it('needs no picture for a page, and no WARC when it shall not write one', async () => {
    const broken = await startSite({
      '/': '<title>x</title><img src="/missing.png"><img src="http://127.0.0.1:1/dead.png">',
    })
    try {
      expect(await run('wget', `${broken.url}/`, { ...PATH, WGET_WARC_ENABLED: 'False' })).toMatchObject({
        status: 'succeeded',
      })
      expect(files().filter((path) => path.includes('warc'))).toEqual([])
    } finally {
      await broken.close()
    }
  })

  it('tells nobody from which page it comes, where the URL of that has a token', async () => {
    const referers: (string | undefined)[] = []
    const other = await startSite({
      '/picture.png': ({ headers }, response) => {
        referers.push(headers.referer)
        response.end()
      },
    })
    const page = await startSite({ '/': `<title>x</title><img src="${other.url}/picture.png">` })
    try {
      await run('wget', `${page.url}/?page=1`, PATH)
      await run('wget', `${page.url}/?token=T`, PATH)
      expect(referers).toEqual([`${page.url}/?page=1`, ''])
    } finally {
      await Promise.all([page.close(), other.close()])
    }
  })

  it('connects to nothing private where that is not allowed, whatever a redirect leads to', async () => {
    let connections = 0
    const secret = createServer((socket) => {
      connections++
      socket.end('220 secret\r\n')
    }).listen(0, '127.0.0.1')
    await once(secret, 'listening')
    const port = (secret.address() as AddressInfo).port
    const redirect =
      (to: string): RequestListener =>
      (_request, response) =>
        void response.writeHead(302, { location: to }).end()
    const open = await startSite({
      '/http': redirect(`http://127.0.0.1:${port}/`),
      '/https': redirect(`https://127.0.0.1:${port}/`),
      '/ftp': redirect(`ftp://127.0.0.1:${port}/`),
    })
    try {
      const env = { ...PATH, BLOCK_PRIVATE_ADDRESSES: 'true', ALLOW_PRIVATE_HOSTS: new URL(open.url).host }
      for (const path of ['/http', '/https', '/ftp'])
        expect(await run('wget', open.url + path, env), path).toMatchObject({ status: 'failed' })
      const ftp = await run('wget', `${open.url}/ftp`, PATH)
      expect(ftp).toMatchObject({ status: 'failed', output: 'redirected to an unsupported scheme: ftp:' })
      expect(connections).toBe(0)
    } finally {
      await open.close()
      secret.close()
    }
  })

  it.each(['/empty', '/blank', '/status-204'])(
    'keeps nothing of an answer without anything in it: %s',
    async (path) => {
      expect(await run('wget', at(path), PATH)).toMatchObject({ status: 'noresults', output: 'an empty answer' })
      expect(readdirSync(join(snapshot, 'wget'))).toEqual([])
    },
  )

  it.each([
    ['a dead port', DEAD, 'connection refused by 127.0.0.1:1', {}],
    ['a missing page', '/status-404', 'HTTP 404 Not Found', {}],
    ['another protocol', '/not-http', expect.stringMatching(/ does not answer in HTTP$/) as string, {}],
    ['a redirect loop', '/redirect-loop', 'more than 20 redirects', {}],
    ['a page without an end', '/never-ends', 'larger than 1 MB (WGET_MAX_SIZE)', { WGET_MAX_SIZE: '1mb' }],
    ['a server that says nothing', '/hangs', 'timed out after 0.5 s', { WGET_TIMEOUT: '0.5' }],
  ])('fails with a reason at %s, and leaves nothing behind', async (_name, target, reason, env) => {
    expect(await run('wget', target.startsWith('/') ? at(target) : target, { ...PATH, ...env })).toMatchObject({
      status: 'failed',
      output: reason,
    })
    expect(readdirSync(join(snapshot, 'wget'))).toEqual([])
  })
})
