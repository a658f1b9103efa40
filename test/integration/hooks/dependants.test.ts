import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, type Result, resultsOf } from '../../support/archive.ts'
import { useHomes } from '../../support/homes.ts'
import { hook, plugin, requiring, setUpHook } from '../../support/plugins.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(1)
})
afterAll(() => site.close())

/** For a hook that must not be waited for. */
const WAITS = 'sleep 1000'
const MISSING = 'made-up-tool not found: install it, and make sure that PATH leads to it'
const SERVES = 'trap "exit 0" TERM; echo ready; while :; do sleep 0.05; done'

describe('hooks whose plugin requires another one', () => {
  it('are skipped without a wait when that one is not there, is off or failed, and say which; others run', async () => {
    const home = await homes.make()
    const add = (name: string, requires: readonly string[], script: string) => {
      plugin(home, name, script)
      requiring(home, name, ...requires)
    }
    add('needs_nobody', ['nobody'], WAITS)
    add('off', [], WAITS)
    add('needs_off', ['base', 'off'], WAITS)
    add('needs_needs', ['needs_off'], WAITS)
    // A browser that does not start: neither its own hooks nor those that need it may wait.
    setUpHook(home, 'browser', '90_launch.daemon.bg.sh', 'echo "no display" >&2; exit 1')
    setUpHook(home, 'browser', '91_wait.sh', WAITS)
    hook(home, 'browser', '01_tab.daemon.bg.sh', WAITS)
    hook(home, 'browser', '30_navigate.sh', WAITS)
    add('needs_browser', ['browser'], WAITS)
    // One without hooks of its own on the page, and without its program.
    setUpHook(home, 'prepares', '80_prepare.sh', WAITS)
    const required_binaries = [{ name: 'made-up-tool', binproviders: 'env' }]
    writeFileSync(join(home.dataDir, 'plugins', 'prepares', 'config.json'), JSON.stringify({ required_binaries }))
    add('needs_prepares', ['prepares'], WAITS)
    // One that leaves its browser to the crawl: what it started stays there.
    setUpHook(home, 'leaver', '92_leave.daemon.bg.sh', 'sleep 1000 & echo $! >pid; echo ready; sleep 0.3; exit 0')
    hook(home, 'leaver', '35_sees.sh', 'sleep 2.5; kill -0 "$(cat "$CRAWL_DIR/leaver/pid")" && echo there >there.txt')
    // No tab, on one page.
    hook(home, 'tab', '02_tab.bg.sh', 'echo "no tab" >&2; exit 1')
    hook(home, 'tab', '31_go.sh', WAITS)
    add('needs_tab', ['tab'], WAITS)
    // A recorder that fails beside a service that runs.
    hook(home, 'aside', '03_service.bg.sh', SERVES)
    hook(home, 'aside', '04_recorder.bg.sh', 'exit 1')
    hook(home, 'aside', '32_go.sh', 'echo went >went.txt')
    add('needs_aside', ['aside'], 'echo made >made.txt')
    add('circle_a', ['circle_b', 'circle_a'], 'echo a >a.txt')
    add('circle_b', ['circle_a'], 'echo b >b.txt')
    // Of ArchiveBox's suite, and ours.
    const bin = join(home.dataDir, 'bin')
    mkdirSync(bin)
    writeFileSync(join(bin, 'abxpkg'), '#!/bin/sh\nshift 2\nexec "$@"\n', { mode: 0o755 })
    plugin(home, 'upstream', '#!/usr/bin/env -S abxpkg run --script bash\necho made >made.txt\n')
    plugin(home, 'ours', 'echo made >made.txt')
    const plugins = readdirSync(join(home.dataDir, 'plugins')).join()
    const settings = ['-c', 'OFF_ENABLED=false', '-c', 'TIMEOUT=900']
    const crawl = await home.add('--plugins', plugins, ...settings, `${site.url}/page-1.html`)
    const run = await home.run(['run', '--exit-on-idle'], { env: { PATH: `${bin}${delimiter}${process.env['PATH']}` } })
    expect(run.code, run.stderr).toBe(0)
    await expectComplete(home, crawl)
    const own = await resultsOf(home, crawl)
    const said = ({ plugin, hook_name, status, output_str }: Result) => [
      `${plugin} ${hook_name.slice('on_Snapshot__'.length)}`,
      `${status}: ${output_str}`,
    ]
    expect(Object.fromEntries(own.map(said))).toEqual({
      'needs_nobody 40_needs_nobody.sh': 'skipped: needs nobody, which is not installed',
      'needs_off 40_needs_off.sh': 'skipped: needs off, which is off',
      'needs_needs 40_needs_needs.sh': 'skipped: needs needs_off, which needs off, which is off',
      'browser 01_tab.daemon.bg.sh': 'failed: on_CrawlSetup__90_launch.daemon.bg.sh failed: no display',
      'browser 30_navigate.sh': 'skipped: needs browser, which failed',
      'needs_browser 40_needs_browser.sh': 'skipped: needs browser, which failed',
      'needs_prepares 40_needs_prepares.sh': `skipped: needs prepares, which cannot run: ${MISSING}`,
      'leaver 35_sees.sh': 'succeeded: ',
      'tab 02_tab.bg.sh': 'failed: no tab',
      'tab 31_go.sh': 'skipped: needs tab, which failed',
      'needs_tab 40_needs_tab.sh': 'skipped: needs tab, which failed',
      'aside 03_service.bg.sh': 'succeeded: ',
      'aside 04_recorder.bg.sh': 'failed: it ended with exit code 1',
      'aside 32_go.sh': 'succeeded: ',
      'needs_aside 40_needs_aside.sh': 'succeeded: ',
      'circle_a 40_circle_a.sh': 'succeeded: ',
      'circle_b 40_circle_b.sh': 'succeeded: ',
      'upstream 40_upstream.sh': 'failed: it ended without an ArchiveResult',
      'ours 40_ours.sh': 'succeeded: ',
    })
  })

  it('begin when what their crawl prepares is there, also in workers that were ready or idle', async () => {
    const home = await homes.make()
    // Longer than a worker takes to start; then longer than an idle one waits until it looks for pages by itself.
    setUpHook(home, 'prepares', '10_prepare.sh', 'mkdir "$DATA_DIR/once" && sleep 1 || sleep 3; echo >ready')
    plugin(home, 'needs', '[ -e "$CRAWL_DIR/prepares/ready" ] && echo seen >seen.txt')
    const plugins = ['prepares,needs', 'html', 'prepares,needs']
    const crawls: string[] = []
    for (const names of plugins) crawls.push(await home.add('--plugins', names, `${site.url}/page-1.html`))
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], { env: { MAX_CRAWL_WORKERS: '1' } })
    expect(code, stderr).toBe(0)
    for (const crawl of [crawls[0]!, crawls[2]!])
      expect(await resultsOf(home, crawl)).toMatchObject([{ plugin: 'needs', status: 'succeeded' }])
  })

  it('are not begun when a stop comes before that is there', async () => {
    const home = await homes.make()
    // The set-up ends well, but later than its worker has heard that it shall stop.
    setUpHook(home, 'prepares', '10_prepare.sh', 'kill -TERM $PPID $(cut -d" " -f4 /proc/$PPID/stat); sleep 1')
    plugin(home, 'needs', 'echo made >made.txt')
    await home.add('--plugins', 'prepares,needs', `${site.url}/page-1.html`)
    const { code, stderr } = await home.run(['run', '--exit-on-idle'])
    expect(code, stderr).toBe(0)
    expect(await home.query('select status from snapshot')).toEqual([{ status: 'queued' }])
    expect(await home.value('select count(*) from archive_result')).toBe('0')
  })
})
