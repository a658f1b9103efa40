import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { forgetEnds, RowLog, readRowLog, removeEnds, saidIn } from '../../../src/base/row-log.ts'

const said = (status: string) => ({ type: 'ArchiveResult', status })
const LINK = { type: 'Snapshot', url: 'http://a.example/' }

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'archivebox-ts-row-log-'))
  file = join(folder, 'logs', 'hosted.txt')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A row of these hooks, of which some have ended. */
function row(hooks: readonly string[], ended: readonly string[] = hooks): void {
  const log = new RowLog(file, hooks, 'boot')
  for (const hook of ended) log.append(hook, [LINK, said(hook)])
  log.close()
}

const ended = () => [...readRowLog(file).keys()]

describe('the log of a row of hooks', () => {
  it('tells what each printed that has ended, and when', () => {
    expect(ended()).toEqual([])
    const before = Date.now()
    row(['a', 'b', 'c'], ['a', 'b'])
    row(['d'])
    const log = readRowLog(file)
    expect([...log.keys()]).toEqual(['a', 'b', 'd'])
    expect(log.get('b')).toMatchObject({
      stdout: `${JSON.stringify(LINK)}\n${JSON.stringify(said('b'))}`,
      bootId: 'boot',
    })
    expect(log.get('b')!.at).toBeGreaterThanOrEqual(before)
  })

  it('believes no end that a killed host wrote in part, whatever follows it', () => {
    row(['a', 'b'])
    const whole = readFileSync(file, 'utf8')
    const begin = whole.indexOf('\n', whole.indexOf('"hook":"a"')) + 1
    for (let length = begin; length < whole.length - 1; length += 1) {
      writeFileSync(file, whole.slice(0, length))
      expect(ended()).toEqual(['a'])
      row(['c'])
      expect(ended(), whole.slice(begin, length)).toEqual(['a', 'c'])
    }
  })

  it('forgets what ended before its hook began again', () => {
    row(['a', 'b', 'c'])
    row(['b'], [])
    expect(ended()).toEqual(['a', 'c'])
    forgetEnds(file, ['c'])
    expect(ended()).toEqual(['a'])
    row(['c'])
    expect(ended()).toEqual(['a', 'c'])
    forgetEnds(join(folder, 'none'), ['a'])
    expect(existsSync(join(folder, 'none'))).toBe(false)
  })

  it('has what each says on stderr as soon as it is said, and no longer when it begins again', () => {
    const log = new RowLog(file, ['a', 'b'], 'boot')
    log.say('a', 'one')
    log.say('b', 'other')
    log.say('a', 'two\nlines')
    expect([saidIn(file, 'a'), saidIn(file, 'b'), saidIn(file, 'c')]).toEqual(['one\ntwo\nlines\n', 'other\n', ''])
    log.append('a', [LINK, said('a')])
    log.close()
    expect(readRowLog(file).get('a')).toMatchObject({
      stdout: `${JSON.stringify(LINK)}\n${JSON.stringify(said('a'))}`,
      said: 'one\ntwo\nlines\n',
    })
    row(['b'])
    expect([saidIn(file, 'a'), saidIn(file, 'b')]).toEqual(['one\ntwo\nlines\n', ''])
    log.say('a', 'late')
    expect(saidIn(file, 'a')).not.toContain('late')
    removeEnds(file, 'a')
    expect(readFileSync(file, 'utf8')).not.toContain('two')
  })

  it('loses what one of its hooks printed, and nothing else; the file, too, with the last of them', () => {
    row(['a', 'b'])
    const ofA = readRowLog(file).get('a')
    appendFileSync(file, 'torn')
    row(['b'])
    removeEnds(file, 'b')
    expect(readRowLog(file)).toEqual(new Map([['a', ofA]]))
    expect(readFileSync(file, 'utf8')).not.toContain('"status":"b"')
    removeEnds(file, 'a')
    expect(existsSync(file)).toBe(false)
    removeEnds(file, 'a')
  })
})
