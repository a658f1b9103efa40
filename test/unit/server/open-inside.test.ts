import { execFileSync } from 'node:child_process'
import fs, { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isFolderInside, openChecked, openInside } from '../../../src/server/content/open-inside.ts'
import { openBelow } from '../../../src/server/pages/open-below.ts'

describe.each([
  ['by descriptors', openInside],
  [
    'by real paths',
    async (root: string, steps: readonly string[]) => await openChecked(root, steps).catch(() => undefined),
  ],
])('a file below a folder, opened %s', (_how, opens) => {
  let root: string
  beforeAll(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), 'archivebox-ts-inside-')))
    mkdirSync(join(root, 'a/b'), { recursive: true })
    writeFileSync(join(root, 'a/b/file'), 'text')
    symlinkSync('file', join(root, 'a/b/link'))
    symlinkSync('b', join(root, 'a/c'))
    mkdirSync(join(root, 'home'))
    symlinkSync('../a', join(root, 'home/archive'))
    symlinkSync('nowhere', join(root, 'a/broken'))
    execFileSync('mkfifo', [join(root, 'a/pipe')])
  })
  afterAll(() => rmSync(root, { recursive: true }))

  it('is opened, and nothing else is', async () => {
    const opened = await opens(root, ['a', 'b', 'file'])
    expect(await opened?.handle.readFile('utf8')).toBe('text')
    await opened?.handle.close()
    const none = ['a/b/link', 'a/c/file', 'a/broken', 'a/pipe', 'a/b', 'a/none', 'a/b/file/x', `a/${'x'.repeat(300)}`]
    for (const path of none) expect([path, await opens(root, path.split('/'))]).toEqual([path, undefined])
  })

  it('may be below a link to the folder of all files, and nowhere else', async () => {
    const opened = await openBelow(join(root, 'home'), 'archive/b', 'file')
    expect(await opened?.handle.readFile('utf8')).toBe('text')
    await opened?.handle.close()
    for (const [folder, path] of [
      ['archive/c', 'file'],
      ['archive', 'b/link'],
      ['archive/b', '../b/file'],
      ['..', 'a'],
    ])
      expect([folder, path, await openBelow(join(root, 'home'), folder!, path!)]).toEqual([folder, path, undefined])
  })

  it('lies in a folder that is there', async () => {
    expect(await isFolderInside(root, ['a', 'b'])).toBe(true)
    for (const path of ['a/c', 'a/none', 'a/b/file']) expect(await isFolderInside(root, path.split('/'))).toBe(false)
  })
})

it('a file of a page is opened where there is no /proc, too', async () => {
  const root = mkdtempSync(join(tmpdir(), 'archivebox-ts-inside-'))
  writeFileSync(join(root, 'file'), 'text')
  const { existsSync, readlinkSync } = fs
  const none = Object.assign(new Error('none'), { code: 'ENOENT' })
  fs.existsSync = (path) => !String(path).startsWith('/proc') && existsSync(path)
  fs.readlinkSync = () => {
    throw none
  }
  syncBuiltinESMExports()
  try {
    const opened = await openBelow(tmpdir(), basename(root), 'file')
    expect(await opened?.handle.readFile('utf8')).toBe('text')
    await opened?.handle.close()
  } finally {
    Object.assign(fs, { existsSync, readlinkSync })
    syncBuiltinESMExports()
    rmSync(root, { recursive: true })
  }
})
