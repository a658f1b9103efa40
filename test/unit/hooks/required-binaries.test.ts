import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { askVersion, isOlder, notFound } from '../../../src/hooks/upstream/look-up.ts'
import { needed, requiredBinaries } from '../../../src/hooks/upstream/required-binaries.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'abx-binaries-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the programs that a config.json asks for', () => {
  const config = {
    required_binaries: [
      { name: '{WGET_BINARY}', binproviders: 'env,apt', min_version: '1.20' },
      { name: 'node', needed_by: 'some pages' },
      'sh',
      { name: '' },
      {},
      7,
      null,
    ],
    properties: { WGET_BINARY: { default: 'wget' } },
  }

  it('are named by a setting, or by themselves; what is none is left out', () => {
    expect(requiredBinaries(config)).toEqual([
      { setting: 'WGET_BINARY', name: 'wget', binproviders: 'env,apt', minVersion: '1.20', rules: {} },
      { setting: undefined, name: 'node', binproviders: '*', minVersion: '', neededBy: 'some pages', rules: {} },
      { setting: undefined, name: 'sh', binproviders: '*', minVersion: '', rules: {} },
    ])
    for (const nothing of [null, {}, [], 'text', { required_binaries: 'wget' }])
      expect(requiredBinaries(nothing)).toEqual([])
  })

  it('are those that the settings name, else those that the plugin does', () => {
    const [wget] = requiredBinaries(config)
    expect(needed(wget!, {}).name).toBe('wget')
    expect(needed(wget!, { WGET_BINARY: '' }).name).toBe('wget')
    expect(needed(wget!, { WGET_BINARY: '/opt/wget' }).name).toBe('/opt/wget')
  })
})

describe('a version', () => {
  it.each([
    ['1.9', '1.10', true],
    ['1.10', '1.9', false],
    ['1.10', '1.10', false],
    ['2', '1.99', false],
    ['1.21.3-beta', '1.21.4', true],
    ['', '9', false],
    ['1', '', false],
  ])('%s is older than %s: %s', (version, than, older) => expect(isOlder(version, than)).toBe(older))

  it.each([
    ['echo "GNU Wget 1.21.3 built on linux"', '1.21.3'],
    ['echo "v24.11.1"', '24.11.1'],
    ['echo 2025.01.15 >&2; exit 1', '2025.01.15'],
    ['echo hello', ''],
    ['cat; echo 1.2', '1.2'],
  ])('is what %s says first: %s', async (script, version) => {
    const file = join(folder, 'tool')
    writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    expect(await askVersion(file, { env: { PATH: process.env['PATH'] ?? '' } })).toEqual({ version })
  })
})

describe('a program that is not there', () => {
  const lacking = (name: string, binproviders: string, rules = {}) =>
    notFound({
      name,
      plugin: 'p',
      binary: requiredBinaries({ required_binaries: [{ name, binproviders, ...rules }] })[0]!,
    })

  it('comes with the command of the first provider that this platform has', () => {
    const system = process.platform === 'darwin' ? 'brew' : 'apt-get'
    expect(lacking('wget', 'env,apt,brew')).toBe(`wget not found: ${system} install wget`)
    expect(lacking('tool', 'env')).toBe('tool not found: install it, and make sure that PATH leads to it')
    expect(lacking('/opt/tool', 'env,apt')).toBe('/opt/tool not found')
    expect(lacking('blocker', 'env,chromewebstore')).toMatch(/^blocker not found: put blocker\.extension\.json into /)
    expect(lacking('chromium', 'env,playwright,puppeteer')).toBe(`chromium not found: ${system} install chromium`)
  })

  it.skipIf(process.platform === 'darwin')('comes with the names of its packages', () => {
    const rules = { overrides: { apt: { install_args: ['tesseract-ocr', 'tesseract-ocr-eng'] } } }
    expect(lacking('tesseract', 'env,apt', rules)).toBe(
      'tesseract not found: apt-get install tesseract-ocr tesseract-ocr-eng',
    )
  })

  it.each(['env,npm', 'pnpm', 'uv,apt', 'pip'])('is installed by us where %s would do it', (binproviders) => {
    expect(lacking('single-file', binproviders)).toBe('single-file not found: archivebox-ts plugin install p')
  })
})
