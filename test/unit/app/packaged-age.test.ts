import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { aged, builtAt } from '../../../src/app/doctor/packaged-age.ts'
import { packagedBrowser } from '../../../src/browse/browser/packaged.ts'
import { newFolder } from '../../support/folders.ts'

it('knows when the packaged browser was built, and nothing about another package', async () => {
  const built = await builtAt(packagedBrowser()!.files)
  expect(built!.getTime()).toBeGreaterThan(Date.parse('2026-01-01'))
  expect(built!.getTime()).toBeLessThan(Date.now())
  const folder = newFolder()
  expect(await builtAt(folder)).toBeUndefined()
  writeFileSync(join(folder, 'swiftshader.tar.br'), 'something else')
  expect(await builtAt(folder)).toBeUndefined()
  rmSync(folder, { recursive: true })
})

it('warns of one that is some months old', () => {
  const of = (now: string) => aged('153.0.0', new Date('2026-09-09T10:00:00Z'), new Date(now), 'npm install it')
  expect(of('2026-12-01')).toEqual({ status: 'green', message: '153.0.0, built 2026-09-09' })
  expect(of('2027-01-11')).toMatchObject({ status: 'yellow', command: 'npm install it' })
  expect(of('2027-01-11').message).toContain('built 2026-09-09: the security holes of 4 months')
  expect(aged('x', undefined, new Date(), '')).toEqual({ status: 'green', message: 'x' })
})
