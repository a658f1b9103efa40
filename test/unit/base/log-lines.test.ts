import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { uuidv7 } from '../../../src/base/ids.ts'
import { Log, toFile } from '../../../src/base/log.ts'
import { LinesOf } from '../../../src/base/log-lines.ts'

let dir: string
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'abx-test-'))
})
afterAll(() => rmSync(dir, { recursive: true }))

it('what one process said is found among what others say, however the log comes', () => {
  const file = join(dir, 'log')
  const [one, other] = [uuidv7(), uuidv7()]
  const log = (id: string) => new Log('snapshot', toFile(file), { process_id: id })
  new Log('db', toFile(file)).info('of nobody')
  log(one).info('first')
  log(other).info(`not ${one.slice(-8)}: this`)
  log(one).warn('of two\nlines')
  log(other).info('nor this')
  const text = readFileSync(file, 'utf8')
  const expected = text.split('\n').filter((line) => /first|of two|^lines/.test(line))
  expect(expected).toHaveLength(3)
  for (const size of [1, 7, text.length]) {
    const lines = new LinesOf(one)
    let found = ''
    for (let at = 0; at < text.length; at += size) found += lines.take(text.slice(at, at + size))
    expect(found).toBe(`${expected.join('\n')}\n`)
  }
})
