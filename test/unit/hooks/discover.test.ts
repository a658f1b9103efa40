import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findPlugins, type HookSettings, pluginTrees, selectHooks } from '../../../src/hooks/discover.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'abx-discover-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Puts a plugin with these empty files into a tree; the tree's path. */
function plugin(tree: string, name: string, files: readonly string[], config?: string): string {
  const dir = join(folder, tree, name)
  mkdirSync(dir, { recursive: true })
  for (const file of files) writeFileSync(join(dir, file), '')
  if (config !== undefined) writeFileSync(join(dir, 'config.json'), config)
  return join(folder, tree)
}

/** The hooks of a snapshot, as `plugin/name`. */
function hooks(trees: readonly string[], settings: HookSettings = {}, only?: readonly string[]): string[] {
  return selectHooks(findPlugins(trees), 'Snapshot', settings, only).map((hook) => `${hook.plugin}/${hook.name}`)
}

describe('hooks', () => {
  it('run in the order of their file names across all plugins', () => {
    plugin('a', 'late', ['on_Snapshot__05_late.sh', 'on_Snapshot__95_late.py'])
    plugin('a', 'early', ['on_Snapshot__50_early.js', 'on_Snapshot__06_early.bg.sh'])
    const tree = plugin('a', 'zz', ['on_Snapshot__100_zz.sh', 'on_Snapshot__9_zz.sh', 'on_Snapshot__050_zz.sh'])
    expect(hooks([tree])).toEqual([
      'zz/on_Snapshot__050_zz.sh',
      'late/on_Snapshot__05_late.sh',
      'early/on_Snapshot__06_early.bg.sh',
      'zz/on_Snapshot__100_zz.sh',
      'early/on_Snapshot__50_early.js',
      'late/on_Snapshot__95_late.py',
      'zz/on_Snapshot__9_zz.sh',
    ])
  })

  it('are files named on_<event>__<what>.js, .py or .sh, and nothing else', () => {
    const files = [
      'on_Snapshot__1.txt',
      'on_Snapshot__.sh',
      'on_snapshot__1.sh',
      'on_Snapshot_1.sh',
      'x_on_Snapshot__1.sh',
      'on_Other__1.sh',
    ]
    const tree = plugin('a', 'p', [
      ...files,
      'README.md',
      'on_Snapshot__1.sh',
      'on_CrawlSetup__2.js',
      'on_Snapshot__3.js.bak',
    ])
    expect(hooks([tree])).toEqual(['p/on_Snapshot__1.sh'])
    expect(selectHooks(findPlugins([tree]), 'CrawlSetup', {}).map(({ name }) => name)).toEqual(['on_CrawlSetup__2.js'])
  })

  it('are found in folders only, and not in hidden, private or shared ones', () => {
    for (const name of ['.hidden', '_private', 'base', 'seen']) plugin('a', name, ['on_Snapshot__1.sh'])
    const tree = join(folder, 'a')
    writeFileSync(join(tree, 'on_Snapshot__2.sh'), '')
    symlinkSync(join(tree, 'seen'), join(tree, 'linked'))
    expect(hooks([tree]).sort()).toEqual(['linked/on_Snapshot__1.sh', 'seen/on_Snapshot__1.sh'])
    expect(hooks([join(folder, 'no-such-tree')])).toEqual([])
  })

  it('are background hooks when one part of their name is "bg"', () => {
    const tree = plugin('a', 'p', ['on_Snapshot__1_x.bg.sh', 'on_Snapshot__2_bg.sh', 'on_Snapshot__3.bg.finite.js'])
    const found = selectHooks(findPlugins([tree]), 'Snapshot', {})
    expect(found.map(({ background }) => background)).toEqual([true, false, true])
  })

  it('are run by the warm host when they are built in, in the foreground, and nobody switched it off', () => {
    const ours = plugin('ours', 'p', ['on_Snapshot__1.js', 'on_Snapshot__2.bg.js'])
    const theirs = plugin('theirs', 'q', ['on_Snapshot__3.js'])
    const hosted = (settings: HookSettings) =>
      selectHooks(findPlugins([ours, theirs]), 'Snapshot', settings).map((hook) => hook.hosted)
    expect(hosted({})).toEqual([true, false, false])
    expect(hosted({ HOOK_HOST: 'true' })).toEqual([true, false, false])
    expect(hosted({ HOOK_HOST: 'false' })).toEqual([false, false, false])
  })
})

describe('<PLUGIN>_ENABLED', () => {
  it.each(['false', 'False', 'FALSE', '0', 'no', 'off', ''])('%j switches a plugin off, and only that one', (value) => {
    plugin('a', 'one', ['on_Snapshot__1.sh'])
    const tree = plugin('a', 'one_more', ['on_Snapshot__2.sh'])
    expect(hooks([tree], { ONE_ENABLED: value })).toEqual(['one_more/on_Snapshot__2.sh'])
  })

  it.each(['true', '1', 'yes', undefined, 'what'])('%j leaves it on', (value) => {
    expect(hooks([plugin('a', 'one', ['on_Snapshot__1.sh'])], { ONE_ENABLED: value })).toHaveLength(1)
  })

  it('wins over a name in the list of plugins', () => {
    expect(hooks([plugin('a', 'one', ['on_Snapshot__1.sh'])], { ONE_ENABLED: 'false' }, ['one'])).toEqual([])
  })
})

describe('a list of plugins', () => {
  it('brings what they require, to any depth, around circles, and nothing else', () => {
    plugin('a', 'top', ['on_Snapshot__9.sh'], '{"required_plugins": ["middle", "not_there"]}')
    plugin('a', 'middle', ['on_Snapshot__5.sh'], '{"required_plugins": ["bottom"]}')
    plugin('a', 'bottom', ['on_Snapshot__1.sh'], '{"required_plugins": ["top"]}')
    const tree = plugin('a', 'aside', ['on_Snapshot__3.sh'])
    expect(hooks([tree], {}, ['top'])).toEqual([
      'bottom/on_Snapshot__1.sh',
      'middle/on_Snapshot__5.sh',
      'top/on_Snapshot__9.sh',
    ])
    expect(hooks([tree], {}, ['aside'])).toEqual(['aside/on_Snapshot__3.sh'])
    expect(hooks([tree], {}, [])).toEqual([])
    expect(hooks([tree], {}, ['nobody'])).toEqual([])
  })

  it.each(['', 'not JSON', '[]', 'null', '{"required_plugins": "text"}', '{"required_plugins": {"a": 1}}'])(
    'does without a config.json that says %j',
    (config) => {
      expect(hooks([plugin('a', 'p', ['on_Snapshot__1.sh'], config)], {}, ['p'])).toEqual(['p/on_Snapshot__1.sh'])
    },
  )
})

describe('the timeout', () => {
  it.each([
    [{}, 60],
    [{ TIMEOUT: '7' }, 7],
    [{ TIMEOUT: '7', MY_HOOK_TIMEOUT: '3' }, 3],
    [{ TIMEOUT: '7', OTHER_TIMEOUT: '3' }, 7],
    [{ TIMEOUT: '7', MY_HOOK_TIMEOUT: '' }, 7],
    [{ MY_HOOK_TIMEOUT: '0.5' }, 0.5],
    [{ TIMEOUT: 'soon' }, 60],
    [{ TIMEOUT: '-1' }, 60],
    [{ TIMEOUT: '0' }, 60],
    [{ TIMEOUT: '1e9' }, 43_200],
    [{ TIMEOUT: 'Infinity' }, 60],
  ])('of %j is %d s', (settings, seconds) => {
    const tree = plugin('a', 'my_hook', ['on_Snapshot__1.sh'])
    expect(selectHooks(findPlugins([tree]), 'Snapshot', settings)[0]?.timeoutMs).toBe(seconds * 1000)
  })
})

describe('plugin trees', () => {
  it('are ours, then those of ABX_PLUGINS_DIR, then the one of the data dir', () => {
    const [ours, ...others] = pluginTrees('/data', { ABX_PLUGINS_DIR: '/x::/y:' })
    expect(ours).toMatch(/plugins$/)
    expect(others).toEqual(['/x', '/y', '/data/plugins'])
    expect(pluginTrees('/data', {})).toEqual([ours, '/data/plugins'])
  })

  it('that come later replace plugins of the same name as a whole', () => {
    const first = plugin('first', 'same', ['on_Snapshot__1.sh', 'on_Snapshot__2.js'], '{"required_plugins": ["kept"]}')
    plugin('first', 'kept', ['on_Snapshot__3.sh'])
    const second = plugin('second', 'same', ['on_Snapshot__4.sh'])
    expect(hooks([first, second])).toEqual(['kept/on_Snapshot__3.sh', 'same/on_Snapshot__4.sh'])
    expect(hooks([first, second], {}, ['same'])).toEqual(['same/on_Snapshot__4.sh'])
    const [replaced] = selectHooks(findPlugins([first, second]), 'Snapshot', {}, ['same'])
    expect(replaced).toMatchObject({ path: join(second, 'same', 'on_Snapshot__4.sh'), hosted: false })
  })

  it('with a browser of their own leave out built-in plugins that need ours, and no others', () => {
    const ours = plugin('ours', 'chrome', ['on_Snapshot__1.js'], '{"makes": {"browser": true}}')
    plugin('ours', 'mhtml', ['on_Snapshot__2.js'], '{"required_plugins": ["chrome"]}')
    plugin('ours', 'title', ['on_Snapshot__3.js'])
    expect(hooks([ours])).toHaveLength(3)
    const theirs = plugin('theirs', 'chrome', ['on_Snapshot__4.js'])
    plugin('theirs', 'dom', ['on_Snapshot__5.js'], '{"required_plugins": ["chrome"]}')
    expect(hooks([ours, theirs])).toEqual([
      'title/on_Snapshot__3.js',
      'chrome/on_Snapshot__4.js',
      'dom/on_Snapshot__5.js',
    ])
  })
})
