import {
  appendFileSync,
  closeSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MAX_LOG_BYTES, toFile } from '../../../src/base/log.ts'
import { capLogs } from '../../../src/base/log-cap.ts'

let dir: string
let file: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'log-cap-'))
  mkdirSync(join(dir, 'logs'))
  file = join(dir, 'logs', 'a.log')
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const MUCH = 'x'.repeat(MAX_LOG_BYTES)

describe('a log above 10 MB', () => {
  it('is cut while its writer has it open, who goes on at its new end; what was written last is kept beside it', async () => {
    const writer = openSync(file, 'a')
    writeSync(writer, `first\n${MUCH}last\n`)
    await capLogs(dir)
    expect(readFileSync(file, 'utf8')).toBe('')
    writeSync(writer, 'new\n')
    closeSync(writer)
    expect(readFileSync(file, 'utf8')).toBe('new\n')
    const kept = readFileSync(`${file}.1`, 'utf8')
    expect(kept.length).toBe(MAX_LOG_BYTES)
    expect(kept.endsWith('xlast\n')).toBe(true)
    appendFileSync(file, MUCH)
    await capLogs(dir)
    expect(readFileSync(`${file}.1`, 'utf8').startsWith('new\nx'), 'in place of the one before').toBe(false)
    expect(readFileSync(file, 'utf8')).toBe('')
  })

  it('is left alone when it is none of ours: behind a link, a folder, or no log by its name', async () => {
    const other = join(dir, 'other')
    appendFileSync(other, `${MUCH}!`)
    symlinkSync(other, file)
    mkdirSync(join(dir, 'logs', 'b.log'))
    appendFileSync(join(dir, 'logs', 'notes.txt'), `${MUCH}!`)
    await capLogs(dir)
    expect(readFileSync(other, 'utf8').length).toBe(MAX_LOG_BYTES + 1)
    expect(readFileSync(join(dir, 'logs', 'notes.txt'), 'utf8').length).toBe(MAX_LOG_BYTES + 1)
    expect(existsSync(`${file}.1`)).toBe(false)
  })
})

it.runIf(process.geteuid?.() === 0)(
  'logs of others are left alone, though a user has the folder of logs lead there',
  async () => {
    const others = join(dir, 'var-log')
    renameSync(join(dir, 'logs'), others)
    appendFileSync(join(others, 'a.log'), `${MUCH}!`)
    symlinkSync(others, join(dir, 'logs'))
    lchownSync(join(dir, 'logs'), 65_534, 65_534)
    await capLogs(dir)
    expect(readFileSync(join(others, 'a.log'), 'utf8').length).toBe(MAX_LOG_BYTES + 1)
    lchownSync(join(dir, 'logs'), 0, 0)
    await capLogs(dir)
    expect(readFileSync(join(others, 'a.log'), 'utf8')).toBe('')
  },
)

it('a small log, and a data dir without logs, stay as they are', async () => {
  appendFileSync(file, MUCH)
  await capLogs(dir)
  expect(readFileSync(file, 'utf8').length).toBe(MAX_LOG_BYTES)
  rmSync(join(dir, 'logs'), { recursive: true })
  await capLogs(dir)
})

it('a log with two writers is moved aside once, whoever of them wrote how much', () => {
  const line = (text: string) => ({ level: 'info', role: 'test', text }) as const
  const [one, two] = [toFile(file), toFile(file)]
  const half = 'x'.repeat(MAX_LOG_BYTES * 0.6)
  one(line(half))
  two(line(half))
  one(line('one')) // Counts its own half alone.
  two(line('two'))
  expect(readFileSync(file, 'utf8').length, 'above the cap: the next line sees it').toBeLessThan(MAX_LOG_BYTES)
  const kept = readFileSync(`${file}.1`, 'utf8').length
  one(line(half)) // Together with its first half above the cap; the file is not.
  one(line('three'))
  expect(readFileSync(`${file}.1`, 'utf8').length).toBe(kept)
})
