import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { entryOf } from '../../../src/pages/model/entry.ts'
import { meaningsOf } from '../../support/meanings.ts'

it('a list opens no pipe and follows no link where the text of a page should be', () => {
  const dir = mkdtempSync(join(tmpdir(), 'archivebox-ts-entry-'))
  const meanings = meaningsOf()
  const page = { url: 'https://example.com/', output_dir: 'page', pictures: [], meanings, node: '' } as unknown
  const text = () => entryOf(dir, 1, 'x', page as Parameters<typeof entryOf>[3]).text
  for (const plugin of ['readability', 'pdftext']) mkdirSync(join(dir, 'page', plugin), { recursive: true })
  writeFileSync(join(dir, 'page', 'pdftext', 'content.txt'), 'of a  PDF')
  expect(text()).toBe('of a PDF')
  execFileSync('mkfifo', [join(dir, 'page', 'readability', 'content.txt')])
  expect(text()).toBe('of a PDF')
  rmSync(join(dir, 'page', 'pdftext', 'content.txt'))
  symlinkSync('/etc/passwd', join(dir, 'page', 'pdftext', 'content.txt'))
  expect(text()).toBe('')
  rmSync(dir, { recursive: true })
})
