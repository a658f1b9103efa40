import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectComplete, resultsOf } from '../../support/archive.ts'
import { withPrograms } from '../../support/bare-path.ts'
import { useHomes } from '../../support/homes.ts'
import { publishedIn } from '../../support/outputs.ts'
import { type Site, startSite } from '../../support/site.ts'

// A tree in the shape of ArchiveBox's suite: a package with code that plugins share, hooks that start through abxpkg,
// and a config.json for each. Its text is our own.

const homes = useHomes()
const PYTHON = withPrograms('python3')
let site: Site
beforeAll(async () => {
  site = await startSite(1)
})
afterAll(() => site.close())

const LINE = '#!/usr/bin/env -S abxpkg run --script --deps-from=./config.json:required_binaries'
const SAY = `const say = (status, output_str) =>
  console.log(JSON.stringify({ type: 'ArchiveResult', status, output_str }))`

const FILES: Readonly<Record<string, string>> = {
  'suite/__init__.py': '',
  'suite/plugins/__init__.py': '',
  'suite/plugins/base/shared.js': "module.exports = { shared: 'shared' }",
  'suite/plugins/base/shared.py': "SHARED = 'shared'",
  'suite/plugins/base/__init__.py': '',
  // A session that lasts as long as the page, and leaves links and an empty file.
  'suite/plugins/session/config.json': JSON.stringify({
    required_binaries: [
      { name: '{NODE_BINARY}', binproviders: 'env,node', min_version: '22' },
      { name: 'helper', binproviders: 'pnpm', min_version: '2.5', overrides: { pnpm: { version: '2.5.1' } } },
    ],
    properties: {
      NODE_BINARY: { type: 'string', default: 'node' },
      SESSION_ENABLED: { type: 'boolean', default: true },
      SESSION_ROOM: { type: 'string', default: '{CRAWL_DIR}/session', 'x-aliases': ['OLD_ROOM'] },
      SESSION_AGENT: { type: 'string', default: 'nobody', 'x-fallback': 'USER_AGENT' },
      SESSION_ARGS: { type: 'array', default: ['--one', '--two'] },
    },
  }),
  'suite/plugins/session/on_CrawlSetup__90_session.js': `${LINE} node
require('fs').writeFileSync(process.env.SESSION_ROOM + '/open.txt', 'open')`,
  'suite/plugins/session/on_Snapshot__10_session.daemon.bg.js': `${LINE} node
const fs = require('fs')
${SAY}
fs.mkdirSync('all')
fs.writeFileSync('all/page.html', 'page')
fs.symlinkSync('all/page.html', 'page.html')
fs.writeFileSync('nothing.jsonl', '')
fs.writeFileSync('values.json', JSON.stringify([
  require('../base/shared.js').shared, require('helper'), process.env.SESSION_AGENT, process.env.SESSION_ARGS,
  fs.readFileSync(process.env.CRAWL_DIR + '/session/open.txt', 'utf8'), process.env.ABX_RUNTIME,
]))
process.on('SIGTERM', () => {
  fs.writeFileSync('end.txt', 'ended')
  say('succeeded', 'session/page.html')
  process.exit(0)
})
console.log('ready')
setInterval(() => {}, 1000)`,
  'suite/plugins/capture/config.json': JSON.stringify({ required_plugins: ['session'], required_binaries: [] }),
  'suite/plugins/capture/on_Snapshot__50_capture.py': `${LINE} python3
import json, pathlib
from suite.plugins.base.shared import SHARED
pathlib.Path('capture.txt').write_text(SHARED + ' ' + pathlib.Path('../session/page.html').read_text())
print('talk first')
print(json.dumps({'type': 'ArchiveResult', 'status': 'succeeded', 'output_str': 'capture/capture.txt'}))`,
  // It reads what the session leaves, although another hook is still to come.
  'suite/plugins/final/config.json': JSON.stringify({
    ...{ required_plugins: ['session'], wait_for_background_cleanup: true },
  }),
  'suite/plugins/final/on_Snapshot__52_final.js': `${LINE} node
${SAY}
say('succeeded', require('fs').readFileSync('../session/end.txt', 'utf8'))`,
  'suite/plugins/off/config.json': JSON.stringify({ properties: { OFF_ENABLED: { type: 'boolean', default: false } } }),
  'suite/plugins/off/on_Snapshot__51_off.js': `${LINE} node\n${SAY}\nsay('succeeded', 'never')`,
  'suite/plugins/other/config.json': JSON.stringify({ 'x-runtimes': ['abx-dl'] }),
  'suite/plugins/other/on_Snapshot__52_other.js': `${LINE} node\n${SAY}\nsay('succeeded', 'never')`,
  'suite/plugins/missing/config.json': JSON.stringify({
    required_binaries: [{ name: 'made-up-tool', binproviders: 'env,uv' }],
  }),
  'suite/plugins/missing/on_Snapshot__53_missing.js': `${LINE} node\n${SAY}\nsay('succeeded', 'never')`,
  'suite/plugins/unknown/config.json': JSON.stringify({
    required_binaries: [{ name: 'made-up-image', binproviders: 'env,docker' }],
  }),
  'suite/plugins/unknown/on_Snapshot__54_unknown.js': `${LINE} node\n${SAY}\nsay('noresults', 'nothing')`,
  'lib/npm/node_modules/helper/package.json': '{"name": "helper", "version": "2.5.1"}',
  'lib/npm/node_modules/helper/index.js': "module.exports = 'helped'",
}

it.skipIf(PYTHON.missing)(`a suite runs with nothing but its directory ${PYTHON.missing || ''}`, async () => {
  const home = await homes.make()
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(home.dataDir, path)), { recursive: true })
    writeFileSync(join(home.dataDir, path), text, { mode: 0o755 })
  }
  for (const [path, text] of Object.entries(FILES)) put(path, text)
  const env = {
    PATH: PYTHON.path,
    ABX_PLUGINS_DIR: join(home.dataDir, 'suite', 'plugins'),
    ABXPKG_LIB_DIR: join(home.dataDir, 'lib'),
  }
  const names = ['capture', 'final', 'off', 'other', 'missing', 'unknown'].join()
  const args = ['add', '--run', '--plugins', names, '-c', 'USER_AGENT=me', `${site.url}/page-1.html`]
  const { code, stdout, stderr } = await home.run(args, { env })
  expect(code, stderr).toBe(0)
  const { id } = JSON.parse(stdout) as { id: string }
  const [page] = await expectComplete(home, id)
  const results = await resultsOf(home, id)
  expect(Object.fromEntries(results.map((one) => [one.plugin, `${one.status}: ${one.output_str}`]))).toEqual({
    session: 'succeeded: session/page.html',
    capture: 'succeeded: capture/capture.txt',
    final: 'succeeded: ended',
    missing: 'skipped: made-up-tool not found: archivebox-ts plugin install missing',
    unknown: 'noresults: nothing', // Nobody can tell what docker has.
  })
  const dir = join(home.dataDir, page!.output_dir)
  expect(publishedIn(dir).sort()).toEqual([
    'capture/capture.txt',
    'session/all/page.html',
    'session/end.txt',
    'session/nothing.jsonl',
    'session/page.html',
    'session/values.json',
  ])
  expect(readFileSync(join(dir, 'capture', 'capture.txt'), 'utf8')).toBe('shared page')
  expect(JSON.parse(readFileSync(join(dir, 'session', 'values.json'), 'utf8'))).toEqual([
    ...['shared', 'helped', 'me', '["--one","--two"]', 'open', 'archivebox'],
  ])
})
