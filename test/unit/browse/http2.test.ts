import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { noCertificates } from '../../support/certificates.ts'
import { read, runRow, useHookRuns } from '../../support/hook-runs.ts'
import { startHttp2Site } from '../../support/http2-site.ts'
import { NODE } from '../../support/program.ts'

useHookRuns()

describe.skipIf(noCertificates)(`a server that only speaks HTTP/2 ${noCertificates}`, () => {
  let site: Awaited<ReturnType<typeof startHttp2Site>>
  beforeAll(async () => {
    site = await startHttp2Site()
  })
  afterAll(() => site.close())

  const row = async (path: string) =>
    await runRow(['headers', 'html', 'favicon', 'wget', 'title', 'warc'], site.url + path, {
      CHECK_SSL_VALIDITY: 'false',
      WGET_BINARY: NODE,
    })

  it.each(['/', '/moved', '/leaves'])('has its page archived, but for wget: %s', async (path) => {
    expect(await row(path)).toMatchObject({
      headers: 'succeeded: headers/headers.json',
      html: 'succeeded: html/output.html',
      favicon: expect.stringMatching(/^noresults/),
      wget: expect.stringMatching(/^skipped: 127\.0\.0\.1:\d+ only speaks HTTP\/2/),
      title: 'succeeded: over HTTP/2',
      warc: 'succeeded: warc/data.warc.gz',
    })
    expect(JSON.parse(read('headers/headers.json'))).toMatchObject({ headers: { 'set-cookie': 'a=1\nb=2' } })
    expect(read('html/output.html')).toContain('<p>text')
  })

  it.each([
    ['/resets', /before the end of the answer \(INTERNAL_ERROR\)$/],
    ['/cancels', /before the end of the answer/],
    ['/ends', /before the end of the answer/],
  ])('and breaks off before it answers fails with the reason: %s', async (path, reason) => {
    expect((await row(path))['headers']).toMatch(reason)
  })

  it('under a certificate that nobody trusts says so, the next time, too', async () => {
    const reason = /^failed: TLS problem with 127\S+ self-signed certificate \(CHECK_SSL_VALIDITY\)$/
    for (const _ of [1, 2]) expect((await runRow(['headers'], site.url))['headers']).toMatch(reason)
  })

  it.each(['/resets-late', '/ends-late', '/too-short'])(
    'and breaks off has its page as far as it came: %s',
    async (path) => {
      const ends = await row(path)
      expect(ends['html']).toMatch(/^failed: connection closed by .*; kept as far as it came/)
      expect(ends['title']).toBe('succeeded: over HTTP/2')
      expect(read('html/truncated.html')).toContain('<p>the beginning')
    },
  )
})
