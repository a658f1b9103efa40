import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WorkTree } from '../../../src/hooks/work-tree.ts'
import { areOfAllFiles } from '../../../src/workers/page/hashed-files.ts'
import { newFolder } from '../../support/folders.ts'

let page: string
const HASHES = { plugin: 'hashes', hashes: 'hashes.json' }

const put = (path: string, text: string) => {
  mkdirSync(join(page, path, '..'), { recursive: true })
  writeFileSync(join(page, path), text)
}
const hashes = (...files: [path: string, size: number][]) =>
  put('hashes/hashes.json', JSON.stringify({ files: files.map(([path, size]) => ({ path, size })) }))

beforeEach(() => {
  page = newFolder()
  put('html/output.html', 'four')
  put('.work/title/title.txt', 'unpublished')
  put('index.html', 'of the page')
})

afterEach(() => rmSync(page, { recursive: true }))

describe('hashes of a page', () => {
  it('are of all files', () => {
    put('dom/below/a.txt', 'a')
    hashes(['html/output.html', 4], ['dom/below/a.txt', 1])
    expect(areOfAllFiles(new WorkTree(page), HASHES)).toBe(true)
  })

  it.each([
    ['saw a file that was not published', [['html/output.html', 4] as const, ['title/title.txt', 11] as const]],
    ['missed one', []],
    ['saw another version of one', [['html/output.html', 5] as const]],
    ['saw another one instead', [['html/other.html', 4] as const]],
  ])('are not when they %s', (_what, files) => {
    hashes(...files.map(([path, size]): [string, number] => [path, size]))
    expect(areOfAllFiles(new WorkTree(page), HASHES)).toBe(false)
  })

  it('are not when they cannot be read', () => {
    put('hashes/hashes.json', '{"files":')
    expect(areOfAllFiles(new WorkTree(page), HASHES)).toBe(false)
  })

  it('are those that the plugin says it makes', () => {
    put('sums/sums.json', JSON.stringify({ files: [{ path: 'html/output.html', size: 4 }] }))
    expect(areOfAllFiles(new WorkTree(page), { plugin: 'sums', hashes: 'sums.json' })).toBe(true)
    expect(areOfAllFiles(new WorkTree(page), { plugin: 'sums' })).toBe(false)
  })

  it('need not be there when there is no file', () => {
    expect(areOfAllFiles(new WorkTree(page), HASHES)).toBe(false)
    rmSync(join(page, 'html'), { recursive: true })
    expect(areOfAllFiles(new WorkTree(page), HASHES)).toBe(true)
  })
})
