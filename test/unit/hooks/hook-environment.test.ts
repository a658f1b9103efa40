import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { forgetPersonas } from '../../../src/hooks/account-environment.ts'
import { findPlugins, selectHooks } from '../../../src/hooks/discover.ts'
import { hookEnvironment } from '../../../src/hooks/environment.ts'

let dir: string
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'environment-')))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

function put(path: string, text = '', mode = 0o755): string {
  mkdirSync(dirname(join(dir, path)), { recursive: true })
  writeFileSync(join(dir, path), text, { mode })
  return join(dir, path)
}

const CONFIG = {
  required_plugins: ['needed'],
  properties: {
    P_TEXT: { default: 'plain' },
    P_AGENT: { 'x-fallback': 'ALL_AGENTS' },
    P_COOKIES: { default: '', 'x-fallback': 'COOKIES_FILE' },
  },
}

/** The environment of the hook of plugin `p` in a tree. */
function environment(settings: Record<string, string>, tree = 'tree', dataDir = '/data', only?: readonly string[]) {
  put(`${tree}/p/on_Snapshot__1_p.sh`)
  put(`${tree}/p/config.json`, JSON.stringify(CONFIG))
  put(`${tree}/needed/config.json`, JSON.stringify({ properties: { NEEDED_KEY: {} } }))
  put(`${tree}/other/config.json`, JSON.stringify({ makes: { text: 'other.txt' }, properties: { OTHER_KEY: {} } }))
  put(`${tree}/silent/on_Snapshot__2_silent.sh`)
  const hooks = selectHooks(findPlugins([join(dir, 'built-in'), join(dir, tree)]), 'Snapshot', settings, only)
  const target = { dataDir, crawlId: 'c', crawlDir: '/data/c', depth: 0, url: 'http://x/' }
  const ids = { processId: '1', workerId: '2', runnerId: '3' }
  const of = (plugin: string) =>
    hookEnvironment(
      { HOME: dir, PATH: '/usr/bin:/bin', ...settings },
      target,
      hooks.filter((hook) => hook.plugin === plugin),
      ids,
    )
  return { ...of('p'), SILENT: of('silent') } as Record<string, string> & { SILENT: Record<string, string> }
}

describe('the environment of a hook', () => {
  it('has what its plugin and the ones it requires declare, and no key of another', () => {
    const keys = { NEEDED_KEY: 'n', OTHER_KEY: 'o', SILENT_KEY: 's', ALL_AGENTS: 'me', SECRET_TOKEN: 'hush' }
    const env = environment({ ...keys, LC_ALL: 'C.UTF-8', https_proxy: 'http://proxy' })
    expect(env).toMatchObject({ NEEDED_KEY: 'n', P_TEXT: 'plain', P_AGENT: 'me', ALL_AGENTS: 'me', HOME: dir })
    expect(env).toMatchObject({ LC_ALL: 'C.UTF-8', https_proxy: 'http://proxy' })
    for (const name of ['OTHER_KEY', 'SILENT_KEY', 'SECRET_TOKEN']) expect(env).not.toHaveProperty(name)
    expect(env.SILENT).toMatchObject({ SILENT_KEY: 's' })
    expect(env.SILENT).not.toHaveProperty('NEEDED_KEY')
  })

  it('has what the plugins around it make, and the time limit of its plugin, which that did not declare', () => {
    const env = environment({ P_TIMEOUT: '7', OTHER_TIMEOUT: '9' })
    expect(JSON.parse(env['ARCHIVEBOX_MAKES']!)).toEqual({ other: { text: 'other.txt' } })
    expect(env).toMatchObject({ P_TIMEOUT: '7' })
    expect(env).not.toHaveProperty('OTHER_TIMEOUT')
  })

  it('says that a plugin is on when it is named', () => {
    expect(environment({})).not.toHaveProperty('P_ENABLED')
    const env = environment({}, 'tree', '/data', ['p'])
    expect(env).toMatchObject({ P_ENABLED: 'True' })
    expect(env).not.toHaveProperty('NEEDED_ENABLED')
  })

  it('has what HOOK_ENV_ALLOW names, but never what leads to our database, or into our server', () => {
    const secrets = { DATABASE_URL: 'postgres://hush', SERVER_TOKEN: 'hush-hush-hush-hush' }
    const env = environment({ HOOK_ENV_ALLOW: 'EXTRA,DATABASE_URL,SERVER_TOKEN', EXTRA: 'e', ...secrets })
    expect(env).toMatchObject({ EXTRA: 'e' })
    expect(JSON.stringify(env)).not.toContain('hush')
  })

  it('names the persona and its files, also where a plugin has a name of its own for them', () => {
    const none = { PERSONAS_DIR: '/data/personas', ACTIVE_PERSONA: 'Default', P_COOKIES: '' }
    expect(environment({})).toMatchObject({ ...none, CHROME_USER_DATA_DIR: '/data/personas/Default/chrome_profile' })
    expect(environment({})).not.toHaveProperty('COOKIES_FILE')
    const cookies = put('data/personas/Reader/cookies.txt', '', 0o600)
    const reader = environment({ ACTIVE_PERSONA: 'Reader' }, 'tree', join(dir, 'data'))
    expect(reader).toMatchObject({ ACTIVE_PERSONA: 'Reader', COOKIES_FILE: cookies, P_COOKIES: cookies })
    const own = environment({ ACTIVE_PERSONA: 'Reader', COOKIES_FILE: '/c.txt' }, 'tree', join(dir, 'data'))
    expect(own).toMatchObject({ COOKIES_FILE: '/c.txt', P_COOKIES: '/c.txt' })
  })

  it('leads to the stand-in for abxpkg, unless the real one is on PATH', () => {
    expect(environment({})['PATH']).toMatch(/^\/\S+\/bin:\/usr\/bin:\/bin:/)
    put('real/abxpkg', '#!/bin/sh\n')
    const PATH = `${join(dir, 'real')}:/usr/bin`
    expect(environment({ PATH })['PATH']).toBe(`${PATH}:${join(dir, '.config/abx/lib/npm/node_modules/.bin')}`)
  })

  it('says where modules, extensions and programs lie', () => {
    const lib = join(dir, '.config', 'abx', 'lib')
    const modules = join(lib, 'npm', 'node_modules')
    expect(environment({})).toMatchObject({
      ...{ ABXPKG_LIB_DIR: lib, NODE_MODULES_DIR: modules, NODE_PATH: modules, NODE_BINARY: process.execPath },
      CHROMEWEBSTORE_EXTENSIONS_DIR: join(lib, 'chromewebstore', 'extensions'),
    })
    expect(environment({ ABXPKG_LIB_DIR: '/lib', NODE_MODULES_DIR: '/mine', NODE_PATH: '/more:/mine' })).toMatchObject({
      ABXPKG_LIB_DIR: '/lib',
      NODE_PATH: '/mine:/more',
      CHROMEWEBSTORE_EXTENSIONS_DIR: '/lib/chromewebstore/extensions',
    })
  })

  it('has the Python of the virtual environment into which a tree was installed, and imports its package', () => {
    const python = put('venv/bin/python3', '#!/bin/sh\n')
    const site = 'venv/lib/python3.13/site-packages'
    for (const folder of ['suite', 'suite/plugins']) put(`${site}/${folder}/__init__.py`)
    const env = environment({ PYTHONPATH: '/mine' }, `${site}/suite/plugins`)
    expect(env).toMatchObject({ PYTHON_BINARY: python, PYTHONPATH: `${join(dir, site)}:/mine` })
  })
})

it('copies of personas are removed, with profiles of those that are gone, and no folder is no error', () => {
  const account = { folder: join(dir, 'data/own'), argv: [], name: 'nobody', uid: 1, gid: 1 }
  for (const name of ['Default', 'known', 'deleted'])
    for (const file of ['cookies.txt', 'chrome_profile/Local State']) put(`data/personas/${name}/${file}`)
  for (const path of ['0123456789abcdef.txt', 'unused/cookies.txt']) put(`data/personas/${path}`)
  for (const path of ['data/personas/unused/chrome_profile', 'personas/known', 'personas/unused'])
    mkdirSync(join(dir, path), { recursive: true })
  forgetPersonas(account)
  expect(readdirSync(join(dir, 'data/personas'), { recursive: true }).sort()).toEqual(
    ['Default', 'known'].flatMap((name) =>
      ['', '/chrome_profile', '/chrome_profile/Local State'].map((at) => name + at),
    ),
  )
  rmSync(join(dir, 'data'), { recursive: true })
  expect(() => forgetPersonas(account)).not.toThrow()
  put('data')
  expect(() => forgetPersonas(account)).not.toThrow()
})
