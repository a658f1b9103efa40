import { existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { replaceFile } from '../../../src/base/replace-file.ts'
import { newFolder } from '../../support/folders.ts'

let folder: string
beforeEach(() => {
  folder = newFolder()
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('a file that is replaced', () => {
  it('is its owner’s alone, unless somebody says otherwise, and nothing is left beside it', () => {
    const file = join(folder, 'file')
    replaceFile(file, 'one')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    replaceFile(file, 'two', { mode: 0o644, times: { atime: new Date(0), mtime: new Date(1_000) } })
    expect([statSync(file).mode & 0o777, statSync(file).mtimeMs]).toEqual([0o644, 1_000])
    expect(readFileSync(file, 'utf8')).toBe('two')
    expect(readdirSync(join(file, '..'))).toEqual(['file'])
  })

  it('is written neither through a link that lies beside it, nor over what a killed process left', () => {
    const [file, other] = [join(folder, 'file'), join(folder, 'other')]
    writeFileSync(other, 'other')
    symlinkSync(other, `${file}.new`)
    replaceFile(file, 'new')
    expect([readFileSync(file, 'utf8'), readFileSync(other, 'utf8')]).toEqual(['new', 'other'])
  })

  it('stays as it is when it cannot be replaced', () => {
    expect(() => replaceFile(join(folder, 'none', 'file'), 'new')).toThrow(/ENOENT/)
    expect(() => replaceFile(folder, 'new')).toThrow(/EISDIR|ENOTEMPTY/)
    expect(existsSync(`${folder}.new`)).toBe(false)
  })
})
