import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Output } from '../../../src/pages/model/outputs.ts'
import { isClosed, packed } from '../../../src/pages/packed-copies.ts'

const csp = (policy: string) => `<meta http-equiv="Content-Security-Policy" content="${policy}">`
const CLOSED = csp("default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'")
const SINGLE_FILE =
  '<!DOCTYPE html> <html lang=en><!--\n Page saved with SingleFile \n url: http://a.example/?<b>\n--><meta charset=utf-8>\n' +
  CLOSED.replace(/"Content-Security-Policy"/, 'content-security-policy')

describe('a page that can load nothing', () => {
  it.each([
    ['as SingleFile writes it', SINGLE_FILE],
    [
      'as readability does',
      `<!doctype html>\n<html>\n<head>\n<meta charset="utf-8">\n<meta name="a" content="b">\n${CLOSED}`,
    ],
  ])('says so at its beginning, %s', (_what, head) => expect(isClosed(head)).toBe(true))

  it.each([
    ['says nothing', '<!doctype html><title>x</title>'],
    ['says so after what may load already', `<link rel="stylesheet" href="http://a.example/">${CLOSED}`],
    ['says so in a comment', `<!-- ${CLOSED} --><img src="http://a.example/">`],
    ['redirects before', `<meta name="a" http-equiv="refresh" content="0;http://a.example/">${CLOSED}`],
    ['says so behind a comment that has ended before', `<!--><img src="http://a.example/">-->${CLOSED}`],
    ['lets something in', csp("default-src 'none'; img-src http://a.example")],
    ['lets everything in', csp("default-src 'none'; img-src *")],
    ['leaves something out', csp("img-src 'none'")],
  ])('is none that %s', (_what, head) => expect(isClosed(head)).toBe(false))
})

describe('the copies that a page carries', () => {
  let dir: string
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'archivebox-ts-packed-'))
    for (const name of ['html', 'singlefile', 'large']) mkdirSync(join(dir, name))
  })
  afterAll(() => rmSync(dir, { recursive: true, force: true }))

  it('are those that are no closed pages of our own making, whole, unless they are too large or gone', async () => {
    writeFileSync(join(dir, 'html/a.html'), `${CLOSED}served`)
    writeFileSync(join(dir, 'singlefile/a.html'), `${CLOSED}made`)
    writeFileSync(join(dir, 'large/a.html'), 'x')
    truncateSync(join(dir, 'large/a.html'), 4 * 1024 * 1024 + 1)
    const output = (plugin: string): Output => ({
      plugin,
      isClosed: plugin === 'singlefile',
      isIcon: false,
      group: 'page',
      path: `${plugin}/a.html`,
      shown: 'html',
      size: 1,
      files: 1,
      isPart: false,
    })
    const [html, single, ...others] = ['html', 'singlefile', 'large', 'gone'].map((name) => packed(dir, output(name)))
    expect(gunzipSync(Buffer.from(html!.packed!, 'base64')).toString()).toBe(`${CLOSED}served`)
    expect(single).toEqual(output('singlefile'))
    expect(others).toEqual([
      { ...output('large'), shown: 'file' },
      { ...output('gone'), shown: 'file' },
    ])
  })
})
