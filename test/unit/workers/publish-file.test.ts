import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { publishFile } from '../../../src/workers/index/publish-file.ts'
import { newFolder } from '../../support/folders.ts'

it('may be called for the same file twice at once: by two pages that one worker has at work', async () => {
  const dir = newFolder()
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const file = join(dir, 'pages.css')
  await Promise.all([publishFile(file, 'the same'), publishFile(file, 'the same')])
  expect(readdirSync(dir)).toEqual(['pages.css'])
  expect(readFileSync(file, 'utf8')).toBe('the same')
})

it('leaves nothing where a folder has its name', async () => {
  const dir = newFolder()
  onTestFinished(() => rmSync(dir, { recursive: true }))
  mkdirSync(join(dir, 'index.html'))
  await expect(publishFile(join(dir, 'index.html'), 'an index')).rejects.toThrow()
  expect(readdirSync(dir)).toEqual(['index.html'])
})
