import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeFolder, whyUnusable } from '../../../src/base/make-folder.ts'
import { closest } from '../../../src/base/near-miss.ts'
import { findPlugins } from '../../../src/hooks/discover.ts'
import { KnownSettings } from '../../../src/hooks/known-settings.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'known-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

/** What is known with these plugins: their names, and what their config.json says. */
function known(plugins: Readonly<Record<string, unknown>>): KnownSettings {
  for (const [name, config] of Object.entries(plugins)) {
    mkdirSync(join(dir, name))
    if (config !== undefined) writeFileSync(join(dir, name, 'config.json'), JSON.stringify(config))
  }
  return new KnownSettings(findPlugins([dir]))
}

describe('the word that was meant', () => {
  const words = ['TIMEOUT', 'WGET_TIMEOUT', 'WGET_ARGS', 'AGE']
  it.each([
    ['TIMEUOT', 'TIMEOUT'],
    ['TIMOUT', 'TIMEOUT'],
    ['timeouts', 'TIMEOUT'],
    ['WGETTIMEOUT', 'WGET_TIMEOUT'],
    ['WGET_ARG', 'WGET_ARGS'],
    ['AGO', 'AGE'],
    ['FOO', undefined],
    ['AXX', undefined],
    ['TITLE_TIMEOUT', undefined],
    ['', undefined],
  ])('by %j is %j', (typed, word) => expect(closest(typed, words)).toBe(word))
})

describe('what config.json declares', () => {
  const properties = {
    P_WHOLE: { type: 'integer', minimum: -1 },
    P_NUMBER: { type: 'number', maximum: 0.5 },
    P_FLAG: { type: 'boolean', 'x-aliases': ['SAVE_P'] },
    P_WORD: { type: 'string', enum: ['one', 2] },
    P_TEXT: { type: 'string', pattern: '^a' },
    P_LIST: { type: 'array' },
    P_SIZE: { type: ['integer', 'string'], format: 'size' },
    P_ODD: { type: 'string', pattern: '(' },
    P_NEW: { anyOf: [] },
    P_NULL: null,
    P_AGENT: { type: 'string', 'x-fallback': 'ALL_AGENTS' },
  }

  it.each([
    ['P_WHOLE', ['-1', '7', ' 8 ', ''], ['-2', '1.5', '1e3', 'x']],
    ['P_NUMBER', ['0.5', '-3', '1e-3'], ['0.6', 'x']],
    ['P_FLAG', ['True', 'off', '1'], ['2', 'maybe']],
    ['P_WORD', ['one', 'ONE', '2'], ['three']],
    ['P_TEXT', ['abc'], ['bca']],
    ['P_LIST', ['["a"]', 'a,b', 'a'], ['["a"']],
    ['P_SIZE', ['5', '50mb', '1.5 GiB'], ['big', '-1']],
    ['P_ODD', ['anything'], []],
    ['P_NEW', ['anything'], []],
    ['P_NULL', ['anything'], []],
    ['P_TIMEOUT', ['0.5', '0'], ['-1', 'soon']],
    ['P_ENABLED', ['no'], ['never']],
    ['SAVE_P', ['no'], ['never']],
    ['ALL_AGENTS', ['me'], []],
  ])('of %s takes %j, and not %j', (name, good, bad) => {
    const settings = known({ p: { properties, required_binaries: ['{TOOL_BINARY}'] } })
    for (const text of good) expect(settings.refusalForCrawl(name, text, {}), text).toBeUndefined()
    for (const text of bad) expect(settings.refusalForCrawl(name, text, {}), text).toMatch(`${name}=${text}: it takes `)
    expect(settings.refusalForCrawl('P_OTHER', '1', {})).toMatch(/^P_OTHER is not a setting/)
    expect(settings.refusalForCrawl('TOOL_BINARY', '/bin/tool', {})).toMatch(/cannot be set for a crawl/)
  })

  it.each([undefined, [], null, 'text', { properties: [] }, { properties: 'text' }])('may be nothing: %j', (config) => {
    const settings = known({ quiet: config })
    expect(settings.refusalForCrawl('QUIET_ANYTHING', '1', {})).toBeUndefined()
    expect(settings.refusalForCrawl('QUIET_TIMEOUT', 'soon', {})).toBeDefined()
    expect(settings.refusalForCrawl('QUIETLY', '1', {})).toMatch(/is not a setting/)
  })

  it('cannot change what the program takes', () => {
    const settings = known({ p: { properties: { DISK_FLOOR: { type: 'string' }, TIMEOUT: { type: 'string' } } } })
    expect(settings.refusalForCrawl('DISK_FLOOR', '1', {})).toMatch(/cannot be set for a crawl/)
    expect(settings.refusalForCrawl('TIMEOUT', 'soon', {})).toMatch(/a number of seconds/)
  })
})

describe('a folder', () => {
  it('is made with what is missing above it, and says where that began', () => {
    expect(makeFolder(join(dir, 'a', 'b', 'c'))).toBe(join(dir, 'a'))
    expect(makeFolder(join(dir, 'a', 'b', 'd'))).toBe(join(dir, 'a', 'b', 'd'))
    expect(makeFolder(join(dir, 'a'))).toBeUndefined()
    expect(statSync(join(dir, 'a', 'b', 'c')).isDirectory()).toBe(true)
  })

  it('is not made where a file or a link to nowhere is', () => {
    writeFileSync(join(dir, 'file'), '')
    symlinkSync(join(dir, 'nowhere'), join(dir, 'link'))
    for (const name of ['file', 'file/below', 'link', 'link/below'])
      expect(() => makeFolder(join(dir, name)), name).toThrow(/EEXIST|ENOTDIR|ENOENT/)
    expect(whyUnusable(join(dir, 'file', 'below'))).toBe(`${join(dir, 'file')} is not a directory`)
    expect(whyUnusable(join(dir, 'new', 'below'))).toBeUndefined()
  })

  it.skipIf(process.platform !== 'linux')('that cannot be made in /proc ends the attempt', () => {
    expect(() => makeFolder('/proc/no-such-folder/below')).toThrow(/ENOENT|EACCES|EPERM/)
  })
})

it('a setting of a plugin that declares none is no slip for one of the program', () => {
  const settings = known({ slow: undefined })
  expect(settings.meantBy('SLOW_SECONDS')).toBeUndefined()
  expect(settings.meantBy('SLOW_TIMEOTU')).toBe('SLOW_TIMEOUT')
  expect(settings.meantBy('STOP_SECOND')).toBe('STOP_SECONDS')
})
