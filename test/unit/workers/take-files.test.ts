import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { takeFiles } from '../../../src/workers/adopt/take-files.ts'
import { putFiles } from '../../support/archivebox.ts'
import { newFolder } from '../../support/folders.ts'

const here = newFolder()
const elsewhere = ['/dev/shm', '/tmp', '/var/tmp'].find(
  (folder) => existsSync(folder) && statSync(folder).dev !== statSync(here).dev,
)
const folders = [here]

afterEach(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

it.skipIf(!elsewhere)('files of another file system are copied (all of /tmp and /dev/shm is one here)', async () => {
  const from = mkdtempSync(join(elsewhere!, 'archivebox-ts-test-'))
  folders.push(from)
  putFiles(from, { 'wget/a/b.html': 'some text', 'index.html': 'own' })
  putFiles(join(here, 'to'), { 'wget/old.html': 'of an earlier attempt' })
  const taken = await takeFiles(from, join(here, 'to'), true, (name, isFolder) => (isFolder ? name : undefined))
  expect(taken).toMatchObject({ linked: 0, copied: 1, bytes: 9, left: [] })
  expect(taken.files).toEqual(new Map([['wget', { 'a/b.html': { size: 9, mimetype: 'text/html' } }]]))
  expect(readFileSync(join(here, 'to', 'wget', 'a', 'b.html'), 'utf8')).toBe('some text')
  expect(existsSync(join(here, 'to', 'wget', 'old.html'))).toBe(false)
})
