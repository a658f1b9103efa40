import { closeSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lengthOf, openLog, textSince } from '../../../src/db/embedded/server-log.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'embedded-log-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

test('what a server says after a moment is told apart from what was there before', () => {
  const log = openLog(join(dir, 'logs', 'postgres.log'))
  writeSync(log, 'FATAL of yesterday\n')
  const start = lengthOf(log)
  expect(textSince(log, start)).toBe('')
  writeSync(log, 'ready\n')
  expect(textSince(log, start)).toBe('ready\n')
  closeSync(log)
})

test('a log above 10 MB is moved aside at a start, a smaller one is continued', () => {
  const path = join(dir, 'postgres.log')
  closeSync(openLog(path))
  truncateSync(path, 10 * 1024 * 1024 + 1)
  const log = openLog(path)
  writeSync(log, 'new\n')
  closeSync(log)
  closeSync(openLog(path))
  expect(readFileSync(path, 'utf8')).toBe('new\n')
  expect(readFileSync(`${path}.1`).length).toBe(10 * 1024 * 1024 + 1)
})
