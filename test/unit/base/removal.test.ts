import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Removal } from '../../../src/base/removal.ts'

const PAGE = 'archive/snapshots/20260101/example.com/1'

let root: string
let data: string

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'abx-removal-')))
  data = join(root, 'data')
  write(`${PAGE}/index.html`, 'page')
  write(`${PAGE}/title/title.txt`, 'title')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function write(path: string, text: string): void {
  mkdirSync(dirname(join(data, path)), { recursive: true })
  writeFileSync(join(data, path), text)
}
const read = (path: string) => readFileSync(join(data, path), 'utf8')
const isThere = (path: string) => existsSync(join(data, path))

describe('a removal', () => {
  it('moves aside, then removes, with the folders that are empty then', async () => {
    const removal = new Removal(data, 'snapshot.1')
    removal.moveAside(PAGE)
    expect(isThere(PAGE)).toBe(false)
    expect(Removal.begun(data).map(({ name }) => name)).toEqual(['snapshot.1'])
    await removal.remove()
    expect(readdirSync(join(data, 'archive'))).toEqual(['snapshots'])
    expect(readdirSync(join(data, 'archive/snapshots'))).toEqual([])
    expect(Removal.begun(data)).toEqual([])
  })

  it('leaves its neighbours alone', async () => {
    write('archive/snapshots/20260101/example.com/2/index.html', 'other')
    const removal = new Removal(data, 'result.1')
    removal.moveAside(`${PAGE}/title/title.txt`)
    removal.moveAside(`${PAGE}/nothing/there.txt`)
    await removal.remove()
    expect(readdirSync(join(data, PAGE))).toEqual(['index.html'])
    expect(read('archive/snapshots/20260101/example.com/2/index.html')).toBe('other')
  })

  it('puts everything back, by whoever finds it; but not over what was made anew', async () => {
    new Removal(data, 'snapshot.1').moveAside(PAGE)
    write(`${PAGE}/index.html`, 'anew')
    for (const removal of Removal.begun(data)) await removal.putBack()
    expect(read(`${PAGE}/title/title.txt`)).toBe('title')
    expect(read(`${PAGE}/index.html`)).toBe('anew')
    expect(Removal.begun(data)).toEqual([])
  })

  it('removes a symbolic link as what it is', async () => {
    mkdirSync(join(root, 'elsewhere'))
    writeFileSync(join(root, 'elsewhere', 'thesis.txt'), 'mine')
    symlinkSync(join(root, 'elsewhere'), join(data, PAGE, 'link'))
    symlinkSync(join(root, 'elsewhere'), join(data, dirname(PAGE), '2'))
    const removal = new Removal(data, 'snapshot.1')
    removal.moveAside(PAGE)
    removal.moveAside(join(dirname(PAGE), '2'))
    await removal.remove()
    expect(isThere(PAGE)).toBe(false)
    expect(readFileSync(join(root, 'elsewhere', 'thesis.txt'), 'utf8')).toBe('mine')
  })

  it.each(['archive', 'archive/snapshots', dirname(PAGE)])('goes through no symbolic link: %s', (path) => {
    mkdirSync(join(root, 'outside', PAGE), { recursive: true })
    rmSync(join(data, path), { recursive: true })
    symlinkSync(join(root, 'outside', path), join(data, path))
    expect(() => new Removal(data, 'snapshot.1').moveAside(PAGE)).toThrow(`${path} is a symbolic link`)
    expect(existsSync(join(root, 'outside', PAGE))).toBe(true)
  })

  it('moves nothing aside into another place', () => {
    mkdirSync(join(root, 'outside'))
    symlinkSync(join(root, 'outside'), join(data, 'archive/.deleted'))
    expect(() => new Removal(data, 'snapshot.1').moveAside(PAGE)).toThrow('is a symbolic link')
    expect(read(`${PAGE}/index.html`)).toBe('page')
  })

  it.each([
    '',
    'archive',
    'archive/snapshots',
    'postgres/base/1',
    'archive/../postgres/base',
    '/etc/passwd',
    'archive/snapshots//1',
  ])('takes only what lies in the archive, not "%s"', (path) => {
    expect(() => new Removal(data, 'snapshot.1').moveAside(path)).toThrow('not a path of the archive')
  })
})
