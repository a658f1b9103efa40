import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { MAX_LOG_BYTES, toFile } from '../../../src/base/log.ts'
import { newFolder } from '../../support/folders.ts'

/** Writes large lines, and exits with 1 once the log that was moved aside is smaller than a full one. */
const WRITER = `
  const { statSync } = await import('node:fs')
  const { MAX_LOG_BYTES, toFile } = await import(
    ${JSON.stringify(new URL('../../../src/base/log.ts', import.meta.url).href)})
  const file = process.argv[1]
  const sink = toFile(file)
  const text = 'x'.repeat(300_000)
  for (let line = 0; line < 400; line += 1) {
    sink({ level: 'info', role: 'test', text })
    if ((statSync(file + '.1', { throwIfNoEntry: false })?.size ?? MAX_LOG_BYTES) < MAX_LOG_BYTES) process.exit(1)
  }
`

it('a full log with several writers is moved aside whole, and never replaced by a few lines', async () => {
  const folder = newFolder()
  const argv = ['--input-type=module', '-e', WRITER, join(folder, 'runner.log')]
  const writers = [1, 2, 3].map(() => spawn(process.execPath, argv, { stdio: 'ignore' }))
  const codes = await Promise.all(writers.map(async (writer) => (await once(writer, 'exit'))[0] as number))
  expect(codes).toEqual([0, 0, 0])
  rmSync(folder, { recursive: true })
})

it('a writer that died while it moved a log aside keeps the others waiting for a minute at most', () => {
  const folder = newFolder()
  const file = join(folder, 'runner.log')
  const say = () => toFile(file)({ level: 'info', role: 'test', text: 'here' })
  writeFileSync(file, 'x'.repeat(MAX_LOG_BYTES + 1))
  mkdirSync(`${file}.moving`)
  say()
  expect(readFileSync(file).length).toBeGreaterThan(MAX_LOG_BYTES)
  utimesSync(`${file}.moving`, 0, 0)
  for (const _ of [1, 2]) say()
  expect(readFileSync(file).length).toBeLessThan(1_000)
  expect(readFileSync(`${file}.1`).length).toBeGreaterThan(MAX_LOG_BYTES)
  rmSync(folder, { recursive: true })
})
