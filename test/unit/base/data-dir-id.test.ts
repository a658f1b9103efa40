import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { dataDirId } from '../../../src/base/data-dir-id.ts'

let folder: string
const copies: string[] = []
const idOf = (name: string) => dataDirId(join(folder, name), () => void copies.push(name))

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'archivebox-ts-test-'))
  mkdirSync(join(folder, 'one'))
  copies.length = 0
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('the identity of a data dir', () => {
  it('stays, whoever asks first, by another path, and after a move', async () => {
    const ids = await Promise.all(Array.from({ length: 5 }, () => idOf('one')))
    expect(new Set(ids).size).toBe(1)
    symlinkSync('one', join(folder, 'link'))
    expect(await idOf('link')).toBe(ids[0])
    renameSync(join(folder, 'one'), join(folder, 'moved'))
    expect(await idOf('moved')).toBe(ids[0])
    expect(copies).toEqual([])
  })

  it('is a new one for a copy, which is said once, and the original keeps its own', async () => {
    const id = await idOf('one')
    cpSync(join(folder, 'one'), join(folder, 'copy'), { recursive: true })
    const copy = await idOf('copy')
    expect(copy).not.toBe(id)
    expect(await idOf('copy')).toBe(copy)
    expect(await idOf('one')).toBe(id)
    expect(copies).toEqual(['copy'])
  })

  it('is made anew where the file was cut short', async () => {
    writeFileSync(join(folder, 'one', '.archivebox-id'), '0192')
    expect(await idOf('one')).toMatch(/^[0-9a-f-]{36}$/)
  })
})
