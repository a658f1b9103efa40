import { appendFileSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { newFolder } from '../../support/homes.ts'
import { program } from '../../support/program.ts'
import { expectRefused } from '../../support/refused.ts'

// No database is needed for any of this.
const TEXT = '# mine\nTIMEOUT = 30 # short\n'
let dir: string
let file: string
beforeAll(() => {
  dir = newFolder()
  file = join(dir, 'archivebox.toml')
  mkdirSync(join(dir, 'plugins', 'mine'), { recursive: true })
  const properties = {
    MINE_TOKEN: { type: 'string', description: 'who we are' },
    MINE_LIST: { type: 'array', default: ['a'] },
    MINE_TIMEOUT: { type: 'integer', default: 5, 'x-fallback': 'TIMEOUT' },
    MINE_ROUND: { type: 'string', 'x-fallback': 'MINE_ABOUT' },
    MINE_ABOUT: { type: 'string', 'x-fallback': 'MINE_ROUND' },
    MINE_FAST: { type: 'boolean', default: true, 'x-aliases': ['SAVE_MINE'] },
  }
  writeFileSync(join(dir, 'plugins', 'mine', 'config.json'), JSON.stringify({ properties }))
})
beforeEach(() => writeFileSync(file, TEXT))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

async function config(words: string, env: Record<string, string> = {}) {
  return await program(['config', ...words.split(' ')], { env: { DATA_DIR: dir, ...env } })
}

async function records(words: string, env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await config(words, env)
  expect(code, stderr).toBe(0)
  const all = stdout.split('\n').flatMap((line) => (line ? [JSON.parse(line) as Record<string, unknown>] : []))
  return Object.fromEntries(all.map(({ type: _, key, ...rest }) => [key as string, rest]))
}

describe('config', () => {
  it('lists every setting with its value, its source and its default, and no secret', async () => {
    const all = await records('list', { MINE_TOKEN: 'hunter2', DATABASE_URL: 'postgres://me:pw@h/d', SAVE_MINE: 'no' })
    expect(all['TIMEOUT']).toEqual({ value: 30, source: 'archivebox.toml', default: 60, secret: false, set_by: 'page' })
    expect(all['DATA_DIR']).toEqual({
      value: dir,
      source: 'environment',
      default: './data',
      secret: false,
      set_by: 'machine',
    })
    expect(all['DISK_FLOOR']).toEqual({ value: 200, source: 'default', default: 200, secret: false, set_by: 'machine' })
    expect(all['WAIT_DB']).toEqual({ value: null, source: 'default', default: null, secret: false, set_by: 'machine' })
    expect(all['DATABASE_URL']).toEqual({
      value: '***',
      source: 'environment',
      default: null,
      secret: true,
      set_by: 'machine',
    })
    expect(all['MINE_TOKEN']).toEqual({
      value: '***',
      source: 'environment',
      default: null,
      secret: true,
      set_by: 'persona',
    })
    expect(all['MINE_LIST']).toEqual({
      value: ['a'],
      source: 'default',
      default: ['a'],
      secret: false,
      set_by: 'persona',
    })
    expect(all['MINE_TIMEOUT']).toMatchObject({ value: 30, source: 'TIMEOUT' })
    expect(all['MINE_ROUND']).toEqual({
      value: null,
      source: 'default',
      default: null,
      secret: false,
      set_by: 'persona',
    })
    expect(all['MINE_FAST']).toEqual({
      value: false,
      source: 'environment (SAVE_MINE)',
      default: true,
      secret: false,
      set_by: 'page',
    })
  })

  it('gets settings by name, and only the value for scripts', async () => {
    expect(Object.keys(await records('get timeout SAVE_MINE --json'))).toEqual(['TIMEOUT', 'MINE_FAST'])
    expect((await config('get --value TIMEOUT')).stdout).toBe('30\n')
    expectRefused(await config('get TIMEUOT'), 'TIMEUOT is not a setting: did you mean TIMEOUT?')
  })

  it('sets and removes them in the file, whose comments stay', async () => {
    const set = await config('set timeout=45 MINE_LIST=x,y SAVE_MINE=0 USER_AGENT=1.50', { TIMEOUT: '9' })
    expect(set.code, set.stderr).toBe(0)
    expect(set.stderr).toContain('warning: TIMEOUT is also set in the environment, which overrides this')
    const expected = TEXT.replace('30', '45')
    expect(readFileSync(file, 'utf8')).toBe(
      `${expected}MINE_LIST = [ "x", "y" ]\nMINE_FAST = false\nUSER_AGENT = "1.50"\n`,
    )
    const changed = Object.keys(await records('list --changed'))
    expect(changed).toEqual(expect.arrayContaining(['DATA_DIR', 'MINE_FAST', 'MINE_LIST', 'TIMEOUT', 'USER_AGENT']))
    for (const name of ['DISK_FLOOR', 'MINE_TIMEOUT', 'MINE_TOKEN']) expect(changed).not.toContain(name)
    expect((await config('unset MINE_LIST SAVE_MINE USER_AGENT')).code).toBe(0)
    expect(readFileSync(file, 'utf8')).toBe(expected)
  })

  it('sets a setting that the file has under another name, and shows no secret that nobody declares', async () => {
    writeFileSync(file, `${TEXT}SAVE_MINE = false\nMY_TOKEN = "hunter2"\n`)
    expect((await config('set MINE_FAST true')).code).toBe(0)
    expect(readFileSync(file, 'utf8')).toBe(`${TEXT}MY_TOKEN = "hunter2"\nMINE_FAST = true\n`)
    expect((await records('list'))['MY_TOKEN']).toMatchObject({ value: '***', secret: true })
  })

  it('refuses what cannot be set, all at once, and changes nothing', async () => {
    expectRefused(
      await config('set TIMEOUT=soon TIMEUOT=1 FOO=1 MINE_FAST= DATA_DIR=/x DISK_FLOOR=7'),
      'TIMEOUT=soon: it takes a number of seconds',
      'TIMEUOT is not a setting: did you mean TIMEOUT?',
      'FOO is not a setting of the program',
      'MINE_FAST takes a value: archivebox-ts config unset MINE_FAST',
      'DATA_DIR cannot be set in',
    )
    expectRefused(await config('set TIMEOUT'), 'config set takes KEY VALUE, or KEY=VALUE')
    expectRefused(await config('unset WGET_ENABLE'), 'did you mean WGET_ENABLED?')
    expect(readFileSync(file, 'utf8')).toBe(TEXT)
  })

  it('mends a file with a wrong value, which all other commands refuse', async () => {
    writeFileSync(file, 'TIMEOUT = "soon"\n')
    const { stderr } = await config('get TIMEOUT')
    expect(stderr).toContain('warning: TIMEOUT=soon: it takes a number of seconds')
    expect((await config('set TIMEOUT 20')).code).toBe(0)
    expect(readFileSync(file, 'utf8')).toBe('TIMEOUT = 20\n')
  })

  it('edits the file with an editor, and takes no text with mistakes: that is kept for the next time', async () => {
    const draft = join(dir, '.archivebox.toml.draft')
    const editor = (text: string) => ({ EDITOR: `printf '${text}' >>` })
    expectRefused(await config('edit', editor('TIMEUOT = 1\\nDISK_FLOOR = "x"\\n')), 'did you mean', 'DISK_FLOOR=x')
    expect(readFileSync(file, 'utf8')).toBe(TEXT)
    expectRefused(await config('edit', editor('oops\\n')), 'is not valid TOML')
    const kept = readFileSync(draft, 'utf8')
    expect((await config('edit', { EDITOR: 'false' })).code).toBe(1)
    expect(readFileSync(draft, 'utf8')).toBe(kept)
    appendFileSync(file, '# of somebody else\n')
    utimesSync(draft, new Date(), new Date())
    const changed = await config('edit', { EDITOR: 'true' })
    expect([changed.code, changed.stderr]).toEqual([
      1,
      expect.stringContaining('has changed since your text was rejected'),
    ])
    writeFileSync(file, TEXT)
    const mended = await config('edit', { EDITOR: `printf 'TIMEOUT = 5\\n' >` })
    expect(mended.stderr).toContain('continuing with the text that was rejected')
    expect(readFileSync(file, 'utf8')).toBe('TIMEOUT = 5\n')
    const failed = await config('edit', { EDITOR: 'false' })
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('the editor false failed')])
  })

  it('edits a file that is no TOML, too, and notices who changed it meanwhile', async () => {
    writeFileSync(file, 'TIMEOUT = \n')
    expect((await config('edit', { EDITOR: `printf 'TIMEOUT = 6\\n' >` })).code).toBe(0)
    expect(readFileSync(file, 'utf8')).toBe('TIMEOUT = 6\n')
    const both = await config('edit', { EDITOR: `printf 'A = 1\\n' >>${file}; true` })
    expect([both.code, both.stderr]).toEqual([1, expect.stringContaining('was changed by somebody else')])
    const again = await config('edit', { EDITOR: 'true' })
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('has changed since your text was rejected')])
    expect(readFileSync(file, 'utf8')).toBe('TIMEOUT = 6\nA = 1\n')
  })
})
