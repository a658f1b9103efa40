import { hash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readBody } from '../../../src/browse/http/body.ts'
import { fetchPage } from '../../../src/browse/index.ts'
import { Visit } from '../../../src/browse/visit.ts'
import { requestHead } from '../../../src/browse/warc/http-message.ts'
import { recordingOf } from '../../../src/browse/warc/recording-of.ts'
import { bodiesIn } from '../../../src/plugins/responses/bodies.ts'
import wacz from '../../../src/plugins/wacz/on_Snapshot__81_wacz.ts'
import warc from '../../../src/plugins/warc/on_Snapshot__80_warc.ts'
import { bytes, type Site, startSite } from '../../support/site.ts'
import { filesIn, indexed, recordsIn } from '../../support/warc-files.ts'

const LARGE = Buffer.alloc(3_000_000, 'large ')
const SAME = 'the same body '.repeat(100)
const ZIPPED = gzipSync('<title>zipped</title>')

let site: Site
let folder: string
beforeAll(async () => {
  site = await startSite({
    '/': bytes('text/html', ZIPPED, { 'content-encoding': 'gzip', 'set-cookie': 'sid=secret', 'x-name': 'Größe' }),
    '/moved': (_request, response) => response.writeHead(302, { location: '/', 'set-cookie': 'a=secret' }).end('there'),
    '/large': bytes('video/mp4', LARGE),
    '/chunks': (_request, response) => void response.write(SAME.slice(0, 100), () => response.end(SAME.slice(100))),
    '/same': bytes('text/plain', SAME),
    '/early': bytes('text/plain', gzipSync(SAME).subarray(0, -12), { 'content-encoding': 'gzip' }),
    '/endless': (_request, response) => void response.write('begun'),
    '/broken': (request, response) => {
      response.writeHead(200, { 'content-length': 1000 })
      response.write('half', () => request.socket.resetAndDestroy())
    },
  })
})
afterAll(() => site.close())
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'warc-'))
  for (const plugin of ['headers', 'warc', 'wacz']) mkdirSync(join(folder, plugin))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Requests pages in a row of hooks whose last one is warc's. @returns its result */
async function record(paths: readonly string[], env: Record<string, string> = {}) {
  const visit = new Visit(['headers', 'warc'])
  visit.recordInto = join(folder, 'warc')
  const common = { env, visit, signal: AbortSignal.timeout(20_000), emit: () => {}, log: () => {} }
  const context = { ...common, url: site.url + paths[0]!, outputDir: join(folder, 'headers') }
  for (const path of paths) {
    const answer = await fetchPage(context, site.url + path)
    await readBody(answer, { bytes: 1e9, name: 'X' }, context.signal)
  }
  try {
    return await warc.run({ ...context, outputDir: join(folder, 'warc') })
  } finally {
    await visit.close()
  }
}

const file = (path: string) => readFileSync(join(folder, path))
const lines = () => indexed(file('warc/index.cdxj').toString(), file('warc/data.warc.gz'))

describe('a WARC', () => {
  it('has what our own requests received, as it came, under its digests, and an index of it', async () => {
    const result = await record(['/moved', '/large', '/chunks', '/same'])
    expect(result).toEqual({
      status: 'succeeded',
      output: 'warc/data.warc.gz',
      json: { responses: 5, left_out: 0 },
    })
    expect(readdirSync(join(folder, 'warc')).sort()).toEqual(['data.warc.gz', 'index.cdxj'])
    const all = await recordsIn(file('warc/data.warc.gz'))
    expect(all.map(({ type }) => type).join(' ')).toBe(
      `warcinfo ${'response request '.repeat(4)}revisit request metadata`,
    )
    for (const { fields } of all) expect(fields.get('warc-record-id')).toMatch(/^<urn:uuid:[-0-9a-f]{36}>$/)
    const of = (path: string) => all.find(({ type, url }) => type === 'response' && url === site.url + path)!
    expect(of('/moved')).toMatchObject({ status: 302, body: Buffer.from('there') })
    expect(of('/').body.equals(ZIPPED)).toBe(true)
    expect(of('/').http.get('content-encoding')).toBe('gzip')
    expect(of('/').http.get('x-name')).toBe('Größe')
    expect(of('/large').body.equals(LARGE)).toBe(true)
    expect(of('/chunks').body.toString()).toBe(SAME)
    expect(of('/chunks').http.get('x-orig-transfer-encoding')).toBe('chunked')
    expect(of('/chunks').http.has('transfer-encoding')).toBe(false)

    const index = await lines()
    expect(index.map(({ url, record: { url: there } }) => url === there)).toEqual(index.map(() => true))
    const again = index.find(({ mime }) => mime === 'warc/revisit')!
    const first = all.find(({ fields }) => fields.get('warc-record-id') === again.record.fields.get('warc-refers-to'))!
    expect([again.url, first.url]).toEqual([`${site.url}/same`, `${site.url}/chunks`])
    expect(again.digest).toBe(`sha256:${hash('sha256', first.body)}`)
  })

  it('never has cookies or passwords', async () => {
    await record(['/moved'])
    const all = await recordsIn(file('warc/data.warc.gz'))
    expect(all.map(({ head, body }) => `${head}${body.toString()}`).join()).not.toMatch(/secret|cookie/i)
    const given = [...['Cookie', 'authorization', 'Proxy-Authorization'].map((name) => [name, 'x'] as const)]
    expect(requestHead('GET', 'http://x/a?b', [...given, ['A', 'b']])).toBe(
      'GET /a?b HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\n',
    )
  })

  it('ends at its limit, and says what it lacks; a body that broke off is there as far as it came', async () => {
    const { status, json } = await record(['/same', '/large', '/broken'], { WARC_MAX_SIZE: '1mb' })
    expect({ status, json }).toEqual({ status: 'succeeded', json: { responses: 3, left_out: 2 } })
    const all = await recordsIn(file('warc/data.warc.gz'))
    const broken = all.find(({ type, url }) => type === 'response' && url.endsWith('/broken'))!
    expect(broken.fields.get('warc-truncated')).toBe('unspecified')
    expect(broken.body.toString()).toBe('half')
    expect(broken.http.get('x-orig-content-length')).toBe('1000')
    const { left_out } = JSON.parse(all.at(-1)!.body.toString()) as { left_out: { url: string; why: string }[] }
    expect(left_out).toEqual([
      { url: `${site.url}/large`, why: 'larger than 1 MB (WARC_MAX_SIZE, for the page)' },
      { url: `${site.url}/broken`, why: 'it broke off' },
    ])
  })

  it('has a page that no other hook has read, and one that never ends as far as it came', async () => {
    const visit = new Visit(['headers', 'warc'])
    visit.recordInto = join(folder, 'warc')
    const common = { env: {}, visit, emit: () => {}, log: () => {}, outputDir: join(folder, 'warc') }
    const signal = AbortSignal.timeout(20_000)
    const ends: (() => Promise<void>)[] = []
    const onEnd = (end: () => Promise<void>) => void ends.push(end)
    await fetchPage({ ...common, url: `${site.url}/same`, signal, onEnd }, `${site.url}/same`)
    await fetchPage({ ...common, url: `${site.url}/same`, signal }, `${site.url}/endless`)
    const { status } = await warc.run({ ...common, signal, onEnd, url: `${site.url}/same` })
    await Promise.all([visit.close(), ...ends.map((end) => end())])
    expect(status).toBe('succeeded')
    const all = (await recordsIn(file('warc/data.warc.gz'))).filter(({ type }) => type === 'response')
    expect(all.map(({ url, fields }) => [url, fields.get('warc-truncated')])).toEqual([
      [`${site.url}/same`, undefined],
      [`${site.url}/endless`, 'time'],
    ])
  })

  it('has as a whole what the browser got in parts; what takes too long is left out, not all the rest', async () => {
    const visit = new Visit(['warc'])
    visit.recordInto = join(folder, 'warc')
    const common = { env: { WARC_TIMEOUT: '2' }, visit, signal: AbortSignal.timeout(20_000), emit() {}, log() {} }
    const context = { ...common, url: `${site.url}/same`, outputDir: join(folder, 'warc') }
    for (const path of ['/large', '/endless', '/chunks']) recordingOf(context)!.retryLater(site.url + path)
    const { status, json } = await warc.run(context)
    await visit.close()
    expect({ status, json }).toMatchObject({ status: 'succeeded', json: { responses: 3, left_out: 2 } })
    const all = (await recordsIn(file('warc/data.warc.gz'))).filter(({ type }) => type === 'response')
    expect(all.map(({ url }) => new URL(url).pathname)).toEqual(['/same', '/large', '/endless'])
  })

  it('says what it lacks because it came too late, or not at all', async () => {
    const visit = new Visit(['warc'])
    visit.recordInto = join(folder, 'warc')
    const recording = recordingOf({ visit, env: {} })!
    recording.add(`${site.url}/same`, Promise.withResolvers<undefined>().promise)
    recording.retryLater(`${site.url}/large`)
    const context = { env: {}, visit, signal: AbortSignal.timeout(20_000), url: `${site.url}/` }
    await readBody(await fetchPage(context, `${site.url}/`), { bytes: 1e9, name: 'X' }, context.signal)
    const recorded = await recording.finish(`${site.url}/`, [], 1)
    await visit.close()
    expect(recorded).toEqual({
      responses: 1,
      leftOut: [
        { url: `${site.url}/same`, why: 'the browser did not return the body in time' },
        { url: `${site.url}/large`, why: 'there was no time to request it again' },
      ],
    })
  })

  it('that cannot be written fails, and not what reads the page meanwhile', async () => {
    const visit = new Visit(['warc'])
    writeFileSync(join(folder, 'file'), '')
    visit.recordInto = join(folder, 'file', 'warc')
    const context = { env: {}, visit, signal: AbortSignal.timeout(20_000), url: `${site.url}/large` }
    const { bytes: read } = await readBody(
      await fetchPage(context, context.url),
      { bytes: 1e9, name: 'X' },
      context.signal,
    )
    expect(read.equals(LARGE)).toBe(true)
    await expect(recordingOf(context)!.finish(context.url, [])).rejects.toThrow('ENOTDIR')
    await visit.close()
  })

  it('of a page that did not come whole is no success', async () => {
    expect(await record(['/broken'])).toMatchObject({ status: 'failed', json: { served: 'warc/data.warc.gz' } })
    const context = { env: {}, signal: AbortSignal.timeout(20_000), emit() {}, log() {} }
    const packed = await wacz.run({ ...context, outputDir: join(folder, 'wacz'), url: `${site.url}/broken` })
    expect(packed).toMatchObject({ status: 'failed', json: { served: 'wacz/page.wacz' } })
  })

  it('gives its bodies as files, but those that cannot be decoded to their end', async () => {
    await record(['/same', '/early'])
    const context = { outputDir: join(folder, 'responses'), signal: AbortSignal.timeout(20_000) }
    mkdirSync(join(context.outputDir, 'all'), { recursive: true })
    const index = file('warc/index.cdxj').toString()
    const { list, leftOut } = await bodiesIn(context, join(folder, 'warc/data.warc.gz'), index, 1e9)
    expect({ urls: list.map(({ url }) => url), leftOut }).toEqual({ urls: [`${site.url}/same`], leftOut: 1 })
    expect(readdirSync(join(context.outputDir, 'all'))).toHaveLength(1)
  })

  it('does not come about where nothing was received', async () => {
    const context = { env: {}, visit: new Visit(['warc']), signal: AbortSignal.timeout(20_000) }
    const outputDir = join(folder, 'warc')
    const calls = { emit: () => {}, log: () => {} }
    const result = await warc.run({ ...context, ...calls, outputDir, url: 'http://127.0.0.1:1/' })
    expect(result).toMatchObject({ status: 'noresults' })
    expect(readdirSync(outputDir)).toEqual([])
  })

  it('is a part of a WACZ, stored as it is, with hashes of all parts', async () => {
    await record(['/moved', '/same'])
    const context = { env: { SNAPSHOT_ID: 'an-id' }, signal: AbortSignal.timeout(20_000), emit() {}, log() {} }
    const result = await wacz.run({ ...context, outputDir: join(folder, 'wacz'), url: `${site.url}/moved#part` })
    expect(result).toMatchObject({ status: 'succeeded', output: 'wacz/page.wacz' })
    expect(readdirSync(join(folder, 'wacz'))).toEqual(['page.wacz'])
    const parts = filesIn(join(folder, 'wacz/page.wacz'))
    const json = (name: string) => JSON.parse(parts.get(name)!.bytes.toString())
    expect(parts.get('archive/data.warc.gz')).toEqual({ bytes: file('warc/data.warc.gz'), isStored: true })
    expect(gunzipSync(parts.get('indexes/index.cdx.gz')!.bytes)).toEqual(file('warc/index.cdxj'))
    const [meta, block] = parts.get('indexes/index.idx')!.bytes.toString().trimEnd().split('\n')
    expect(meta).toBe('!meta 0 {"format":"cdxj-gzip-1.0","filename":"index.cdx.gz"}')
    const key = file('warc/index.cdxj').toString().split(' {')[0]!
    expect(block!.startsWith(`${key} {"offset":0,"length":${parts.get('indexes/index.cdx.gz')!.bytes.length},`)).toBe(
      true,
    )
    const [, page] = parts.get('pages/pages.jsonl')!.bytes.toString().trimEnd().split('\n')
    expect(JSON.parse(page!)).toEqual({ id: 'an-id', url: `${site.url}/moved`, ts: expect.stringMatching(/^2.*Z$/) })
    const { resources, ...described } = json('datapackage.json')
    expect(described).toMatchObject({ profile: 'data-package', wacz_version: '1.1.1' })
    expect(resources).toHaveLength(4)
    for (const { path, bytes: size, hash: sha } of resources) {
      const part = parts.get(path)!.bytes
      expect([path, size, sha]).toEqual([path, part.length, `sha256:${hash('sha256', part)}`])
    }
    const whole = parts.get('datapackage.json')!.bytes
    expect(json('datapackage-digest.json')).toEqual({
      path: 'datapackage.json',
      hash: `sha256:${hash('sha256', whole)}`,
    })
  })
})
