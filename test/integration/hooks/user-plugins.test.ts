import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, resultsOf } from '../../support/archive.ts'
import { newFolder, useHomes } from '../../support/homes.ts'
import { ROOT } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(3)
})
afterAll(() => site.close())

describe("a user's plugins", () => {
  it('take the place of a built-in one of the same name', async () => {
    const home = await homes.make()
    home.install('title')
    const crawl = await home.add('--plugins', 'html,title', `${site.url}/page-1.html`)
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    const [page] = await expectComplete(home, crawl)
    expect(page!.title).toBe('My own title')
    const hooks = (await resultsOf(home, crawl)).map(({ hook_name }) => hook_name)
    expect(hooks).toEqual([expect.stringContaining('html'), 'on_Snapshot__54_title.sh'])
  })

  it('are also found in the trees of ABX_PLUGINS_DIR, where later ones win', async () => {
    const home = await homes.make()
    const trees = [newFolder(), newFolder()]
    try {
      for (const [index, tree] of trees.entries()) {
        cpSync(join(ROOT, 'test', 'fixtures', 'plugins', 'slow'), join(tree, 'slow'), { recursive: true })
        writeFileSync(join(tree, 'slow', 'on_Snapshot__41_slow.sh'), `#!/bin/sh\necho tree ${index} >slow.txt\n`, {
          mode: 0o755,
        })
      }
      const env = { ABX_PLUGINS_DIR: trees.join(':') }
      const added = await home.run(['add', '--plugins', 'slow', `${site.url}/page-1.html`], { env })
      expect(added.code, added.stderr).toBe(0)
      const crawl = (JSON.parse(added.stdout) as { id: string }).id
      expect((await home.run(['run', '--exit-on-idle'], { env })).code).toBe(0)
      await expectComplete(home, crawl)
      expect((await resultsOf(home, crawl))[0]).toMatchObject({
        status: 'succeeded',
        output_files: { 'slow.txt': { size: 7 } },
      })
      const from = await home.value<string[]>("select cmd from process where process_type = 'hook' and url is not null")
      expect(from[0]).toContain(trees[1]!)
    } finally {
      for (const tree of trees) rmSync(tree, { recursive: true, force: true })
    }
  })

  it('are switched off by <PLUGIN>_ENABLED in the environment, in archivebox.toml and for one crawl', async () => {
    const home = await homes.make()
    home.install('slow', 'exit_10')
    writeFileSync(
      join(home.dataDir, 'archivebox.toml'),
      'WGET_ENABLED = false\n[anything]\nreadability_enabled = false\nSLOW_ENABLED = false\n',
    )
    const crawl = await home.add('-c', 'EXIT_10_ENABLED=False', '-c', 'slow_enabled=true', `${site.url}/page-1.html`)
    expect((await home.run(['run', '--exit-on-idle'], { env: { FAVICON_ENABLED: 'no' } })).code).toBe(0)
    await expectComplete(home, crawl)
    const plugins = (await resultsOf(home, crawl)).map(({ plugin }) => plugin)
    const always = ['hashes', 'headers', 'html', 'htmltotext', 'markdown', 'parse_html_urls', 'seo', 'staticfile']
    expect(plugins.sort()).toEqual([...always, 'title', 'ytdlp', 'slow'].sort())
  })

  it('named by --plugins bring along what they require', async () => {
    const home = await homes.make()
    home.install('slow', 'needs_slow', 'exit_10')
    const crawl = await home.add('--plugins', 'needs_slow', `${site.url}/page-1.html`)
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    await expectComplete(home, crawl)
    expect((await resultsOf(home, crawl)).map(({ plugin, status }) => `${plugin} ${status}`)).toEqual([
      'slow succeeded',
      'needs_slow succeeded',
    ])
  })

  it('that are not there are refused when --plugins asks for them, and those that are there are named', async () => {
    const home = await homes.make()
    const { code, stderr } = await home.run(['add', '--plugins', 'html,no_such_plugin', `${site.url}/page-1.html`])
    expect(code, stderr).toBe(2)
    expect(stderr).toMatch(/error: --plugins: there is no plugin no_such_plugin; there are: .*\bhtml\b/)
    expect(await home.value('select count(*) from crawl')).toBe('0')
  })
})
