import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeLinks } from '../../../src/db/embedded/binaries.ts'
import { copyAside } from '../../../src/db/embedded/copy-aside.ts'

let root: string
let native: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'embedded-links-'))
  native = join(root, 'native')
  mkdirSync(join(native, 'lib'), { recursive: true })
  writeFileSync(join(native, 'lib', 'libx.so.1.2'), 'code')
  const links = ['libx.so', 'libx.so.1'].map((name) => ({
    source: 'native/lib/libx.so.1.2',
    target: `native/lib/${name}`,
  }))
  writeFileSync(join(native, 'pg-symlinks.json'), JSON.stringify(links))
})

afterEach(() => rmSync(root, { recursive: true, force: true }))

test('library links that a blocked install script left out are made, and a second time changes nothing', () => {
  expect(makeLinks(native)).toBe(true)
  expect(makeLinks(native)).toBe(true)
  expect(readlinkSync(join(native, 'lib', 'libx.so'))).toBe('libx.so.1.2')
  expect(readFileSync(join(native, 'lib', 'libx.so.1'), 'utf8')).toBe('code')
})

test('a copy appears whole or not at all, and the first one stays', () => {
  const target = join(root, 'deep', 'copy')
  const copy = (text: string) =>
    copyAside(target, (aside) => {
      mkdirSync(join(aside, 'it'))
      writeFileSync(join(aside, 'it', 'file'), text)
      return join(aside, 'it')
    })
  expect(() =>
    copyAside(target, () => {
      throw new Error('killed')
    }),
  ).toThrow('killed')
  expect(existsSync(target)).toBe(false)
  copy('first')
  copy('second')
  expect(readFileSync(join(target, 'file'), 'utf8')).toBe('first')
  expect(readdirSync(join(root, 'deep'))).toEqual(['copy'])
})

test('the place for copies can be entered by every user, whatever the umask', () => {
  const before = process.umask(0o077)
  try {
    copyAside(join(root, 'a', 'b', 'copy'), (aside) => aside)
  } finally {
    process.umask(before)
  }
  expect(['a', 'a/b', 'a/b/copy'].map((dir) => statSync(join(root, dir)).mode & 0o777)).toEqual([0o755, 0o755, 0o755])
})
