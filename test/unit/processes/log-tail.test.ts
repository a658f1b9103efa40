import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { follow, tail } from '../../../src/processes/registry/log-tail.ts'

let dir: string
let file: string
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'abx-test-'))
  file = join(dir, 'log')
})
afterAll(() => rmSync(dir, { recursive: true }))

function last(content: string | Buffer, lines: number) {
  writeFileSync(file, content)
  return tail(file, lines)?.text
}

describe('the tail of a log', () => {
  it('is its last lines, as they are', () => {
    expect(last('a\nb\nc\n', 2)).toBe('b\nc\n')
    expect(last('a\nb\nc', 2)).toBe('b\nc')
    expect(last('a\n\n\n', 2)).toBe('\n\n')
    expect(last('a\nb\n', 5)).toBe('a\nb\n')
    expect(last('', 5)).toBe('')
    expect(last('\n', 1)).toBe('\n')
  })

  it('of a file that is not there is null', () => {
    expect(tail(join(dir, 'none'), 3)).toBeNull()
  })

  it('of one endless line is its end: at most a mebibyte', () => {
    expect(last(Buffer.alloc(3_000_000, 'x'), 10)).toHaveLength(1024 * 1024)
  })
})

describe('following a log', () => {
  it('brings what is added, a character cut in two included, and all that is there when the writer ends', async () => {
    writeFileSync(file, 'before\n')
    const euro = Buffer.from('€\n')
    let looks = 0
    const isOver = async () => {
      looks += 1
      if (looks === 1) appendFileSync(file, euro.subarray(0, 1))
      if (looks === 3) appendFileSync(file, Buffer.concat([euro.subarray(1), Buffer.from('last\n')]))
      return looks >= 3
    }
    let text = ''
    for await (const part of follow(file, 7, isOver)) text += part
    expect(text).toBe('€\nlast\n')
  })

  it('begins anew when the file does', async () => {
    writeFileSync(file, 'a long first life\n')
    let looks = 0
    const isOver = async () => {
      looks += 1
      if (looks === 1) writeFileSync(file, 'second\n')
      return looks > 1
    }
    let text = ''
    for await (const part of follow(file, 18, isOver)) text += part
    expect(text).toBe('second\n')
  })
})
