import { describe, expect, it } from 'vitest'
import { decodePage, encodingOf, pageForDisk, UNDECLARED } from '../../../src/browse/html/charset.ts'
import { isHtml, looksLikeHtml, parseContentType } from '../../../src/browse/http/content-type.ts'
import { RUSSIAN, windows1251 } from '../../support/site.ts'

const declared = (charset: string) => ({ charset, xml: false })

/** What somebody sees who opens the stored file in a browser, or reads it with the other hooks. */
function seenFromDisk(bytes: Buffer, charset: string): string {
  const stored = pageForDisk(bytes, encodingOf(bytes, declared(charset)))
  return decodePage(stored, encodingOf(stored, UNDECLARED))
}

describe('the characters of a page', () => {
  const utf8 = Buffer.from(`<title>${RUSSIAN}</title>`)
  const cyrillic = windows1251(`<title>${RUSSIAN}</title>`)
  const cases: readonly (readonly [string, Buffer, string])[] = [
    ['UTF-8 that is declared', utf8, 'utf-8'],
    ['UTF-8 that nobody declares', utf8, ''],
    ['UTF-8 that the server calls Latin-1', utf8, 'iso-8859-1'],
    ['UTF-8 with a label that does not exist', utf8, 'no-such-charset\0'],
    ['UTF-8 that says it is windows-1251', Buffer.from(`<meta charset=windows-1251><title>${RUSSIAN}</title>`), ''],
    ['UTF-8 with a byte order mark', Buffer.from(`\uFEFF<title>${RUSSIAN}</title>`), 'iso-8859-1'],
    ['windows-1251 that the server declares', cyrillic, 'windows-1251'],
    [
      'windows-1251 that only a meta tag declares',
      Buffer.concat([Buffer.from('<meta charset="windows-1251">'), cyrillic]),
      '',
    ],
    [
      'windows-1251 that the server declares against the meta tag',
      Buffer.concat([Buffer.from('<meta charset=utf-8>'), cyrillic]),
      'windows-1251',
    ],
    ['UTF-16 with a byte order mark', Buffer.from(`\uFEFF<title>${RUSSIAN}</title>`, 'utf16le'), ''],
    ['UTF-16 that only the server declares', Buffer.from(`<title>${RUSSIAN}</title>`, 'utf16le'), 'utf-16le'],
  ]
  it.each(cases)('come out right from disk: %s', (_name, bytes, charset) => {
    expect(seenFromDisk(bytes, charset)).toContain(`<title>${RUSSIAN}</title>`)
  })

  it('are windows-1252 when nothing is declared and nothing else fits', () => {
    expect(seenFromDisk(Buffer.from([0x80, 0x93, 0xe4]), '')).toBe('€“ä')
  })

  it.each(['replacement', 'x-user-defined', 'utf-7', '\u0000', 'a'.repeat(100_000)])(
    'survive the label %.20s',
    (label) => {
      expect(seenFromDisk(Buffer.from([0x61, 0xe4]), label)).toHaveLength(2)
    },
  )

  it('are kept byte for byte when the page declares itself, or when it is ASCII', () => {
    const meta = Buffer.concat([Buffer.from('<meta charset=windows-1251>'), cyrillic])
    expect(pageForDisk(meta, 'windows-1251')).toBe(meta)
    const ascii = Buffer.from('<title>plain</title>')
    expect(pageForDisk(ascii, encodingOf(ascii, declared('iso-8859-1')))).toBe(ascii)
  })
})

describe('the type of an answer', () => {
  it.each([
    ['text/html; charset="UTF-8"', { mime: 'text/html', charset: 'utf-8' }],
    ['Text/HTML;foo=bar; CharSet = koi8-r ', { mime: 'text/html', charset: 'koi8-r' }],
    ['text/html, text/plain', { mime: 'text/html', charset: '' }],
    [undefined, { mime: '', charset: '' }],
    [';;;charset', { mime: '', charset: '' }],
  ])('is read from %s', (header, expected) => {
    expect(parseContentType(header)).toEqual(expected)
  })

  it('is a page for HTML and XHTML only', () => {
    expect(['text/html', 'application/xhtml+xml'].every(isHtml)).toBe(true)
    expect(['text/plain', 'application/xml', 'image/svg+xml', ''].some(isHtml)).toBe(false)
  })

  it('is guessed from the first bytes when it is missing', () => {
    for (const text of ['', ' \n<!DOCTYPE html>', '<p>hi', '\uFEFF<html>', '<!-- x -->'])
      expect(looksLikeHtml(Buffer.from(text))).toBe(true)
    expect(looksLikeHtml(Buffer.from('\uFEFF<html>', 'utf16le'))).toBe(true)
    for (const text of ['%PDF-1.4', 'hello', '<?xml version="1.0"?><rss>', '{}', '<3'])
      expect(looksLikeHtml(Buffer.from(text))).toBe(false)
  })
})
