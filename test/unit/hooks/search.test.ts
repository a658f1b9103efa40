import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { requiredBinaries } from '../../../src/hooks/upstream/required-binaries.ts'
import { searchFiles, searchPaths, type Wanted } from '../../../src/hooks/upstream/search.ts'
import { searchByAsking } from '../../../src/hooks/upstream/search-by-asking.ts'
import { withPrograms } from '../../support/bare-path.ts'

let dir: string
let settings: Record<string, string>
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'search-')))
  settings = { PATH: join(dir, 'path'), HOME: dir, ABXPKG_LIB_DIR: join(dir, 'lib') }
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

/** Puts a program (or a file) there, and returns its path. */
function put(path: string, text = '#!/bin/sh\n', mode = 0o755): string {
  mkdirSync(dirname(join(dir, path)), { recursive: true })
  writeFileSync(join(dir, path), text, { mode })
  return join(dir, path)
}

function want(name: string, binproviders: string, overrides = {}): Wanted {
  const [binary] = requiredBinaries({ required_binaries: [{ name, binproviders, overrides }] })
  return { binary: binary!, name, plugin: 'p', tree: join(dir, 'tree') }
}

describe('a requirement is found', () => {
  it.each([
    ['env', 'path/tool'],
    ['apt,brew', 'path/tool'],
    ['playwright', 'lib/playwright/bin/tool'],
    ['pnpm', 'lib/pnpm/packages/tool/node_modules/.bin/tool'],
    ['npm', 'lib/npm/node_modules/.bin/tool'],
    ['uv', 'lib/uv/packages/tool/venv/bin/tool'],
    ['env,pip', 'path/tool'],
  ])('by %s as the program %s', (binproviders, path) => {
    expect(searchFiles(want('tool', binproviders), settings)).toBeUndefined()
    const abspath = put(path)
    expect(searchFiles(want('tool', binproviders), settings)).toMatchObject({ abspath })
  })

  it('as a Node module, with its version', () => {
    const abspath = put('lib/npm/node_modules/tool/package.json', '{"version": "2.5"}', 0o644)
    for (const provider of ['npm', 'pnpm'])
      expect(searchFiles(want('tool', provider), settings)).toEqual({ abspath, version: '2.5' })
    expect(searchFiles(want('tool', 'env,apt'), settings)).toBeUndefined()
    expect(searchFiles(want('tool', 'pnpm'), { ...settings, NODE_MODULES_DIR: '/none' })).toBeUndefined()
  })

  it('as a browser extension', () => {
    expect(searchFiles(want('tool', 'chromewebstore'), settings)).toBeUndefined()
    const abspath = put('lib/chromewebstore/extensions/tool.extension.json', '{"version": "1.2"}')
    expect(searchFiles(want('tool', 'chromewebstore'), settings)).toEqual({ abspath, version: '1.2' })
  })

  it('where its own rules put it, and with the version that they say', () => {
    const abspath = put('lib/made/index.js')
    const rules = { pnpm: { abspath: '{ABXPKG_LIB_DIR}/made/index.js', version: '7' } }
    expect(searchFiles(want('tool', 'env,pnpm', rules), settings)).toEqual({ abspath, version: '7' })
    const root = put('elsewhere/node_modules/.bin/other')
    const elsewhere = { pnpm: { install_root: join(dir, 'elsewhere') } }
    expect(searchFiles(want('other', 'pnpm', elsewhere), settings)).toMatchObject({ abspath: root })
  })

  it('by the path that the user gives, whatever its providers are', () => {
    const abspath = put('mine/tool')
    expect(searchFiles(want(abspath, 'puppeteer'), settings)).toEqual({ abspath })
    expect(searchFiles(want(`${abspath}-not`, 'env'), settings)).toBeUndefined()
  })
})

describe('a Python module is found without asking Python', () => {
  it.each([
    ['beside the tree that it is for', 'pkg'],
    ['in the virtual environment of its plugin', 'lib/uv/packages/made_up/venv/lib/python3.13/site-packages'],
    ['in the one of plugin install', 'lib/pip/venv/lib/python3.13/site-packages'],
  ])('%s, with its version', (_where, folder) => {
    put('pkg/suite/__init__.py')
    for (const venv of ['lib/uv/packages/made_up/venv', 'lib/pip/venv']) put(`${venv}/pyvenv.cfg`, 'version = 3.13.0\n')
    put('lib/pip/venv/bin/python3')
    const wanted = { ...want('made_up', 'uv,env'), tree: join(dir, 'pkg', 'suite', 'plugins') }
    expect(searchFiles(wanted, settings)).toBeUndefined()
    const abspath = put(`${folder}/made_up/__init__.py`)
    put(`${folder}/Made-Up-1.2.3.dist-info/METADATA`)
    for (const other of ['made_up_more-9', 'a-made_up-8', 'made_up-stubs-7'])
      put(`${folder}/${other}.dist-info/METADATA`)
    expect(searchFiles(wanted, settings)).toEqual({ abspath, version: '1.2.3' })
    expect(searchFiles({ ...wanted, ...want('made_up', 'env') }, settings)).toBeUndefined()
  })
})

describe('where files do not tell', () => {
  const PYTHON = withPrograms('python3')

  it.skipIf(PYTHON.missing)(`Python is asked for its modules ${PYTHON.missing || ''}`, async () => {
    const given = { PATH: PYTHON.path, PYTHONPATH: join(dir, 'py') }
    const ask = (name: string, binproviders: string) =>
      searchByAsking(want(name, binproviders), { ...settings, ...given }, { env: { HOME: dir, ...given } })
    expect(await ask('abx_made_up', 'uv,env')).toBeUndefined()
    const abspath = put('py/abx_made_up/__init__.py', '', 0o644)
    expect(await ask('abx_made_up', 'uv,env')).toEqual({ abspath, version: undefined })
    expect(await ask('abx_made_up', 'env')).toBeUndefined()
  })

  it('nothing is known of what does not answer', async () => {
    put('path/abxpkg', '#!/bin/sh\nexec sleep 60\n')
    const asked = searchByAsking(want('tool', 'env'), settings, { env: { PATH: process.env['PATH']! }, withinMs: 100 })
    await expect(asked).rejects.toThrow('does not answer')
  })

  it('the real abxpkg is asked, when it is there', async () => {
    const as = { env: { PATH: '/usr/bin:/bin' } }
    expect(await searchByAsking(want('tool', 'env'), settings, as)).toBeUndefined()
    const tool = put('odd/tool')
    put('path/abxpkg', `#!/bin/sh\n[ "$1 $4" = "load tool" ] && echo "1.2.3  ${tool} (odd) tool"\n`)
    expect(await searchByAsking(want('tool', 'env'), settings, as)).toEqual({
      abspath: tool,
      version: '1.2.3',
    })
    expect(await searchByAsking(want('none', 'env'), settings, as)).toBeUndefined()
  })
})

it('modules are imported from the folders in which they were found', () => {
  const found = ['/a/node_modules/.bin/x', '/b/node_modules/y/package.json', '/lib/v/site-packages/z.py', '/usr/bin/w']
  const settings = { ABXPKG_LIB_DIR: '/lib', NODE_PATH: '/b/node_modules' }
  expect(searchPaths([...found, '/other/site-packages/v.py'], settings)).toEqual({
    NODE_PATH: '/b/node_modules:/a/node_modules',
    PYTHONPATH: '/lib/v/site-packages',
  })
  expect(searchPaths([], {})).toEqual({ NODE_PATH: undefined, PYTHONPATH: undefined })
})
