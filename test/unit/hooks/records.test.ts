import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { clean, type HookRecords, readRecords, readUrlsFile } from '../../../src/hooks/records.ts'
import { ROOT } from '../../support/program.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'abx-records-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The records of a hook that printed exactly this. */
async function printed(...parts: readonly (string | Uint8Array)[]): Promise<HookRecords> {
  const file = join(folder, 'stdout.log')
  writeFileSync(file, Buffer.concat(parts.map((part) => Buffer.from(part as string))))
  return await readRecords(file)
}

/** The records of a hook that printed these, one a line. */
const lines = (...records: readonly unknown[]) =>
  printed(`${records.map((record) => JSON.stringify(record)).join('\n')}\n`)

const done = { type: 'ArchiveResult', status: 'succeeded', output_str: 'done' }

describe('the records of a hook', () => {
  it('are none in nothing, and none in talk', async () => {
    const none: HookRecords = { result: undefined, snapshots: [], tags: [], binaries: [], rejected: 0 }
    expect(await printed('')).toEqual(none)
    expect(await printed('\n\n\r\n')).toEqual(none)
    expect(await printed('hello\nArchiveResult succeeded\n[1, 2]\n"text"\n7\nnull\ntrue\n')).toEqual(none)
    await expect(readRecords(join(folder, 'no-such-file'))).rejects.toThrow(/ENOENT/)
  })

  it('may lack the last newline, end in CRLF, and stand between talk', async () => {
    const text = JSON.stringify(done)
    for (const out of [text, `${text}\n`, `${text}\r\n`, `talk\n${text}\ntalk`])
      expect(await printed(out), out).toMatchObject({ result: { status: 'succeeded', output: 'done' }, rejected: 0 })
  })

  it('may ask for programs, and say where they are; one without a name is none', async () => {
    const { binaries } = await lines(
      { type: 'BinaryRequest', name: 'wget', binproviders: 'env,apt', min_version: '1.2', abspath: '/ignored' },
      { type: 'Binary', name: 'node', abspath: '/bin/node', version: '24' },
      { type: 'Binary', abspath: '/bin/sh' },
      { type: 'BinaryRequest', name: 7 },
    )
    expect(binaries).toEqual([
      { name: 'wget', binproviders: 'env,apt', minVersion: '1.2', abspath: '' },
      { name: 'node', binproviders: '*', minVersion: '', abspath: '/bin/node' },
    ])
  })

  it('have keys that the database takes, too, and are kept whatever their names mean', async () => {
    const json = { __proto__x: 1, 'a\u0000b': { '\ud800': ['\u0000'] }, constructor: 2, '\udc00': null }
    const text = JSON.stringify({ ...done, output_json: json }).replace('__proto__x', '__proto__')
    const { result } = await printed(`${text}\n`)
    expect(JSON.stringify(result?.json)).toBe('{"__proto__":1,"ab":{"\ufffd":[""]},"constructor":2,"\ufffd":null}')
  })

  it('lose what is nested deeper than the database and others read', async () => {
    const nested = (depth: number) => `${'[{"a":'.repeat(depth / 2)}1${'}]'.repeat(depth / 2)}`
    const of = async (depth: number) => {
      const text = JSON.stringify(done).replace('}', `,"output_json":${nested(depth)}}`)
      const { result } = await printed(`${text}\n`)
      return { status: result?.status, isKept: result?.json !== null }
    }
    expect(await of(400)).toEqual({ status: 'succeeded', isKept: true })
    for (const depth of [1_000, 100_000]) expect(await of(depth)).toEqual({ status: 'succeeded', isKept: false })
  })

  it('are whole, even where characters and lines lie across the pieces in which the file is read', async () => {
    const title = 'ä€😀'.repeat(40)
    const many = Array.from({ length: 3_000 }, (_, i) => ({
      type: 'Snapshot',
      url: `http://a.example/${i}`,
      title: `${title}${i}`,
    }))
    const { snapshots, rejected } = await lines(...many)
    expect(rejected).toBe(0)
    expect(snapshots).toEqual(many.map(({ url, title }) => ({ url, title })))
  })

  it('end with the last ArchiveResult, which wins', async () => {
    const { result } = await lines({ ...done, status: 'failed' }, { type: 'Tag', name: 'x' }, done, {
      type: 'Snapshot',
      url: 'http://a/',
    })
    expect(result).toEqual({ status: 'succeeded', output: 'done', json: null })
  })

  it.each([
    ['succeeded', 'succeeded'],
    ['success', 'succeeded'],
    ['failed', 'failed'],
    ['skipped', 'skipped'],
    ['noresults', 'noresults'],
    ['noresult', 'noresults'],
    ['queued', 'failed'],
    ['SUCCEEDED', 'failed'],
    ['', 'failed'],
    [undefined, 'failed'],
    [null, 'failed'],
    [0, 'failed'],
    [true, 'failed'],
    [{ succeeded: true }, 'failed'],
  ])('call the status %j %s', async (status, meant) => {
    expect((await lines({ type: 'ArchiveResult', status })).result?.status).toBe(meant)
  })

  it('hold nothing that the database refuses, however deep', async () => {
    const { result } = await lines({ ...done, output_json: { a: ['x\ud800', { b: 'n\u0000' }], c: '\u{1f600}' } })
    expect(result?.json).toEqual({ a: ['x\ufffd', { b: 'n' }], c: '\u{1f600}' })
  })

  it('keep at most 4096 characters of output, of any type, without NULs', async () => {
    const output = async (record: object) =>
      (await lines({ type: 'ArchiveResult', status: 'failed', ...record })).result?.output
    expect(await output({})).toBe('')
    expect(await output({ output_str: 'a\u0000b', output: 'not this' })).toBe('ab')
    expect(await output({ output: 'the older name' })).toBe('the older name')
    expect(await output({ output_str: ['a', 1] })).toBe('["a",1]')
    expect(await output({ output_str: 7 })).toBe('7')
    expect(await output({ output_str: null })).toBe('')
    expect(await output({ output_str: 'x'.repeat(10_000) })).toBe('x'.repeat(4096))
  })

  it('are pages only with a URL that is text, whatever else is in them', async () => {
    const { snapshots } = await lines(
      { url: 'http://without.type/' },
      { type: 'Snapshot', url: 'http://a/', title: 7, depth: 'deep' },
      { type: 'Snapshot', url: 'http://b/', title: `t\u0000${'x'.repeat(1000)}` },
      { type: 'Snapshot', url: 7 },
      { type: 'Snapshot', url: null },
      { type: 'Snapshot', url: ['http://c/'] },
      { type: 'Snapshot' },
      { type: 'Crawl', url: 'http://d/' },
      { type: null, url: 'http://e/' },
    )
    expect(snapshots).toEqual([
      { url: 'http://without.type/' },
      { url: 'http://a/' },
      { url: 'http://b/', title: `t${'x'.repeat(511)}` },
    ])
  })

  it('are tags only with a name that is text', async () => {
    const { tags } = await lines(
      { type: 'Tag', name: 'a\u0000b' },
      { type: 'Tag', name: 'x'.repeat(200) },
      { type: 'Tag', name: 7 },
      { type: 'Tag' },
      { name: 'no type' },
    )
    expect(tags).toEqual(['ab', 'x'.repeat(100)])
  })

  it('are not taken from broken JSON, which is counted', async () => {
    const { result, rejected } = await printed(
      '{"type":"ArchiveResult","status":"failed"\n{]\n{"a":}\n',
      JSON.stringify(done),
      '\n{',
    )
    expect(result?.status).toBe('succeeded')
    expect(rejected).toBe(4)
  })

  it('survive bytes that are no text', async () => {
    const bytes = Buffer.from([0, 255, 254, 10, 123, 255, 125, 10, 195, 10])
    expect(await printed(bytes, JSON.stringify(done), '\n', bytes)).toMatchObject({
      result: { status: 'succeeded' },
      rejected: 2,
    })
  })

  it('are not taken from a line of more than a megabyte, and the next line is read', async () => {
    const huge = JSON.stringify({ ...done, status: 'failed', output_str: 'x'.repeat(3 * 1024 * 1024) })
    expect(await printed(huge, '\n', JSON.stringify(done), '\n')).toMatchObject({
      result: { status: 'succeeded' },
      rejected: 1,
    })
    // Its end may look like a record.
    const tail = `${'x'.repeat(2 * 1024 * 1024)}\n`
    expect(await printed(JSON.stringify(done), '\n', '{', tail, '{}\n')).toMatchObject({
      result: { status: 'succeeded' },
      rejected: 1,
    })
  })

  it('cost bounded memory when a hook prints one endless line', async () => {
    const file = join(folder, 'endless.log')
    writeFileSync(file, Buffer.alloc(64 * 1024 * 1024, 'x'))
    const read = `const { parentPort, workerData } = require('node:worker_threads')
      const answer = async ({ readRecords }) => parentPort.postMessage(await readRecords(workerData.file))
      import(workerData.module).then(answer)`
    const module = join(ROOT, 'src', 'hooks', 'records.ts')
    const resourceLimits = { maxOldGenerationSizeMb: 32 }
    const worker = new Worker(read, { eval: true, resourceLimits, workerData: { module, file } })
    onTestFinished(async () => void (await worker.terminate()))
    const [records] = await once(worker, 'message')
    expect(records).toMatchObject({ result: undefined, snapshots: [] })
    rmSync(file)
  })

  it('are at most 50,000 pages, the rest is counted', async () => {
    const many = Array.from({ length: 50_010 }, (_, i) => JSON.stringify({ url: `http://a/${i}` })).join('\n')
    const { snapshots, rejected } = await printed(many)
    expect(snapshots).toHaveLength(50_000)
    expect(rejected).toBe(10)
  })

  it('change nothing of ours, whatever their keys are', async () => {
    const { result, snapshots } = await printed(
      '{"__proto__":{"type":"ArchiveResult","status":"succeeded","polluted":true}}\n',
      '{"constructor":{"prototype":{"polluted":true}},"url":"http://a/"}\n',
      '{"type":"ArchiveResult","status":"failed","output_json":{"__proto__":{"polluted":true}}}\n',
    )
    expect(snapshots).toEqual([{ url: 'http://a/' }])
    expect(result?.status).toBe('failed')
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
    expect((await printed('{"__proto__":{"type":"ArchiveResult","status":"succeeded"}}')).result).toBeUndefined()
  })
})

describe('urls.jsonl', () => {
  it('is read by the same rules', async () => {
    const file = join(folder, 'urls.jsonl')
    writeFileSync(
      file,
      '{"url":"http://a/"}\nnonsense\n{"type":"Snapshot","url":"http://b/","title":"B"}\n{"type":"Tag","name":"x"}\n',
    )
    expect(await readUrlsFile(file)).toEqual([{ url: 'http://a/' }, { url: 'http://b/', title: 'B' }])
  })
})

describe('clean', () => {
  it('takes every NUL out, and nothing else', () => {
    expect(clean('\u0000a\u0000\u0001\n\u0000')).toBe('a\u0001\n')
  })
})
