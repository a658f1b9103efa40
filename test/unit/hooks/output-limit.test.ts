import { rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { limitOutput } from '../../../src/hooks/output-limit.ts'
import { newFolder } from '../../support/folders.ts'

let folder: string
beforeEach(() => {
  folder = newFolder()
})
afterEach(() => rmSync(folder, { recursive: true }))

it('what a hook prints is watched by nothing that throws: neither the look at a file, nor its cut', async () => {
  const [circle, flooded] = [join(folder, 'circle'), join(folder, 'flooded')]
  symlinkSync(circle, circle)
  expect(await limitOutput([circle], async () => {}).end()).toBeUndefined()
  writeFileSync(flooded, '')
  truncateSync(flooded, 65 * 1024 * 1024)
  const limit = limitOutput([circle, flooded], async () => rmSync(flooded))
  expect(await limit.end()).toMatch(/^it printed too much, and .*: ENOENT/)
})
