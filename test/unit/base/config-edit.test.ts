import { chmodSync, lstatSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { editConfig, replaceConfig, type TomlValue } from '../../../src/base/config-edit.ts'
import { readConfigFile } from '../../../src/base/config-file.ts'

let dir: string
let file: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'config-'))
  file = join(dir, 'archivebox.toml')
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const TEXT = `# Settings of this archive.
# TIMEOUT = 60   # seconds

disk_floor = 10 # mine
# several
list = [
  "a", # one
  'b',
]

[workers] # at work
# how many
max = 3
day = 2026-01-02
`

async function edit(text: string, changes: Record<string, TomlValue | undefined>): Promise<string> {
  writeFileSync(file, text)
  await editConfig(dir, new Map(Object.entries(changes)))
  return readFileSync(file, 'utf8')
}

describe('archivebox.toml', () => {
  it.each<[string, Record<string, TomlValue | undefined>, string]>([
    ['a value is replaced where it stands', { DISK_FLOOR: 20 }, TEXT.replace('= 10', '= 20')],
    ['one in a table, too', { MAX: 4 }, TEXT.replace('max = 3', 'max = 4')],
    ['a new one comes before the first table', { NEW: true }, TEXT.replace(`'b',\n]\n`, `'b',\n]\nNEW = true\n`)],
    ['only the line of a removed one goes', { DISK_FLOOR: undefined }, TEXT.replace('disk_floor = 10 # mine\n', '')],
    ['of one in a table, too', { MAX: undefined }, TEXT.replace('max = 3\n', '')],
    ['several at once', { DISK_FLOOR: 1, MAX: undefined }, TEXT.replace('= 10', '= 1').replace('max = 3\n', '')],
    ['what is not there is removed by doing nothing', { OTHER: undefined }, TEXT],
  ])('keeps its lines and comments: %s', async (_what, changes, expected) => {
    expect(await edit(TEXT, changes)).toBe(expected)
  })

  it('is as before when a setting is set and removed again, whatever stands above it', async () => {
    for (const text of [TEXT, '# only a comment\n', '', '# a\n\n# b', 'a = 1\r\n# c\r\n', '[t]\nx = 1\n']) {
      const changed = await edit(text, { NEW: 'a "text"\nof two lines' })
      expect(await readConfigFile(dir), text).toMatchObject({ NEW: 'a "text"\nof two lines' })
      expect((await edit(changed, { NEW: undefined })).trim(), text).toBe(text.trim())
    }
  })

  it('loses a list and what stands in a table on one line, and nothing else', async () => {
    const text = 'inline = { a = 1, b = 2 }\nlist = [\n  1,\n  2,\n]\n# c\nlast = 1\n'
    const after = await edit(text, { A: undefined, LIST: undefined })
    expect(after).toContain('# c\nlast = 1\n')
    expect(await readConfigFile(dir)).toEqual({ B: '2', LAST: '1' })
  })

  it('keeps its mode, and stays the link that it is', async () => {
    const real = join(dir, 'real.toml')
    writeFileSync(real, 'A = 1\n')
    chmodSync(real, 0o640)
    symlinkSync(real, file)
    await editConfig(dir, new Map([['A', 2]]))
    expect(lstatSync(file).isSymbolicLink()).toBe(true)
    expect(statSync(real).mode & 0o777).toBe(0o640)
    expect(readFileSync(real, 'utf8')).toBe('A = 2\n')
  })

  it('loses nothing when many change it at once', async () => {
    writeFileSync(file, '# all of them\n')
    const names = Array.from({ length: 8 }, (_, number) => `KEY_${number}`)
    await Promise.all(names.map((name) => editConfig(dir, new Map([[name, name]]))))
    expect(await readConfigFile(dir)).toEqual(Object.fromEntries(names.map((name) => [name, name])))
    expect(readFileSync(file, 'utf8')).toMatch(/^# all of them\n/)
  })

  it('that is broken is refused, and left as it is', async () => {
    await expect(edit('A = \n', { B: 1 })).rejects.toThrow(/is not valid TOML: .*1/)
    expect(readFileSync(file, 'utf8')).toBe('A = \n')
  })

  it('is not replaced when somebody changed it meanwhile', async () => {
    writeFileSync(file, 'A = 1\n')
    expect(await replaceConfig(join(dir, 'archivebox.toml'), 'A = 0\n', 'A = 2\n')).toBe(false)
    expect(readFileSync(file, 'utf8')).toBe('A = 1\n')
    expect(await replaceConfig(join(dir, 'archivebox.toml'), 'A = 1\n', 'A = 2\n')).toBe(true)
    expect(readFileSync(file, 'utf8')).toBe('A = 2\n')
  })
})
