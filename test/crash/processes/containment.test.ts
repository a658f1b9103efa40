import { execFile, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest'
import { uuidv7 } from '../../../src/base/ids.ts'
import type { Tier } from '../../../src/db/tables.ts'
import { pidsIn } from '../../../src/processes/containment/cgroup.ts'
import {
  type Containment,
  containerFor,
  detectContainment,
  openContainer,
  releaseContainment,
} from '../../../src/processes/containment/containment.ts'
import { killFamily } from '../../../src/processes/family.ts'
import { MARKER } from '../../../src/processes/marks.ts'
import { resultsOf } from '../../support/archive.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { openRows } from '../../support/observer.ts'
import { noOtherUser, OTHER_USER } from '../../support/other-user.ts'
import { plugin } from '../../support/plugins.ts'
import { isThere, processesOf } from '../../support/processes.ts'
import { eventually, NODE, type Running } from '../../support/program.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(pages(3))
})
afterAll(() => site.close())

/** Skips the test, with the reason, where the machine has no such tier. */
async function needs(tier: Tier, context: TestContext): Promise<Containment> {
  try {
    const containment = await detectContainment(tier, uuidv7())
    await releaseContainment(containment)
    return containment
  } catch (error) {
    return context.skip(String(error))
  }
}

/** A leader with a hook that has hidden a daemon, and the pid of that. */
async function hiding(tier: Tier): Promise<{ home: TestHome; runner: Running; hidden: number }> {
  const home = await homes.make()
  home.install('hides_away', 'slow')
  const name = randomInt(1e9, 1e10)
  const settings = ['HIDES_SECONDS=1000', `HIDES_NAME=${name}`, 'SLOW_SECONDS=1000'].flatMap((setting) => [
    '-c',
    setting,
  ])
  await home.add('--plugins', 'headers,hides_away,slow', ...settings, `${site.url}/page-1.html`)
  const runner = home.start(['run'], { env: { CONTAINMENT: tier } })
  // Only its command line tells who it is.
  const hidden = await eventually(() =>
    readdirSync('/proc').find((pid) => read(`/proc/${pid}/cmdline`).startsWith(`sleep\0${1000}.${name}`)),
  )
  return { home, runner, hidden: Number(hidden) }
}

async function ended(home: TestHome, runner: Running): Promise<void> {
  runner.signal('SIGKILL')
  await runner.finished()
  await eventually(async () => (await openRows(home)).length === 0)
}

describe.each(['cgroup', 'pidns'] as const)('in the tier %s', (tier) => {
  it('what a hook hid from every other search ends with the hook', async (context) => {
    await needs(tier, context)
    const { home, runner, hidden } = await hiding(tier)
    writeFileSync(join(home.dataDir, 'found'), '') // The hook comes to its end.
    await eventually(() => !isThere(hidden))
    expect(
      await home.value("select count(*) from archive_result where status = 'succeeded' and plugin = 'headers'"),
    ).toBe('1')
    await ended(home, runner)
  })

  it('and it ends when the leader is killed with -9', async (context) => {
    await needs(tier, context)
    const { home, runner, hidden } = await hiding(tier)
    expect(isThere(hidden)).toBe(true)
    runner.signal('SIGKILL')
    await eventually(() => !isThere(hidden))
    await eventually(async () => (await openRows(home)).length === 0)
  })
})

describe('the end of a family', () => {
  it('is seen by none of it: whoever waits for a hook does not take it for an end of its own', async (context) => {
    const containment = await needs('cgroup', context)
    for (let round = 0; round < 20; round += 1) {
      const id = uuidv7()
      const container = containerFor(containment, { processId: id, workerId: uuidv7() }, ['sleep', '1000'])
      openContainer(container)
      const mark = { [MARKER.process]: id }
      const waiting = spawn('/bin/sh', ['-c', '"$@"; echo seen', 'waits', ...container.argv], {
        env: { ...process.env, ...mark },
        detached: true,
      })
      let said = ''
      waiting.stdout.setEncoding('utf8').on('data', (text: string) => {
        said += text
      })
      const closed = once(waiting, 'close')
      await eventually(() => pidsIn(container.cgroup!).length === 1)
      expect(await killFamily({ markers: [`${MARKER.process}=${id}`], cgroups: [container.cgroup!] })).toEqual([])
      await closed
      expect(said).toBe('')
    }
    await releaseContainment(containment)
  })
})

describe('in the tier basic', () => {
  it('what hides from every search escapes, and status says which tier it is', async () => {
    const { home, runner, hidden } = await hiding('basic')
    const { stdout } = await home.run(['status', '--json'])
    expect(JSON.parse(stdout).runner.containment).toBe('basic')
    await ended(home, runner)
    expect(isThere(hidden)).toBe(true)
    process.kill(hidden, 'SIGKILL')
  })
})

describe.each(['basic', 'pidns', 'cgroup'] as const)('hooks in the tier %s', (tier) => {
  it('run, fail, time out and are asked to end as in any other', async (context) => {
    await needs(tier, context)
    const home = await homes.make()
    const plugins = ['order_bg', 'exit_1', 'exit_10', 'ignores_term', 'family', 'js_hook']
    home.install(...plugins)
    const limits = [
      '-c',
      'IGNORES_TERM_TIMEOUT=3',
      '-c',
      'BACKGROUND_GRACE=3',
      '-c',
      'FAMILY_SECONDS=1000',
      '-c',
      'FAMILY_TIMEOUT=1',
    ]
    const crawl = await home.add('--plugins', ['headers', ...plugins].join(','), ...limits, `${site.url}/page-1.html`)
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], { env: { CONTAINMENT: tier } })
    expect(code, stderr).toBe(0)
    const found = (await resultsOf(home, crawl)).map(({ plugin, status, output_str }) => [plugin, status, output_str])
    expect(found).toEqual(
      expect.arrayContaining([
        ['headers', 'succeeded', expect.anything()],
        ['order_bg', 'succeeded', expect.anything()],
        ['js_hook', 'succeeded', expect.anything()],
        ['exit_1', 'failed', expect.anything()],
        ['exit_10', 'skipped', expect.anything()],
        ['ignores_term', 'failed', 'killed: it did not end within 3 s of SIGTERM'],
        ['family', 'failed', 'timed out after 1 s'],
      ]),
    )
    expect(
      await home.query('select distinct containment from process where process_type in ($1, $2)', [
        'hook',
        'orchestrator',
      ]),
    ).toEqual([{ containment: tier }])
  })
})

describe('control groups', () => {
  it('are removed with the hooks and the runner they were made for', async (context) => {
    const containment = await needs('cgroup', context)
    const home = await homes.make()
    home.install('family', 'setsid_away')
    await home.add('--plugins', 'headers,family,setsid_away', `${site.url}/page-1.html`)
    expect((await home.run(['run', '--exit-on-idle'], { env: { CONTAINMENT: 'cgroup' } })).code).toBe(0)
    const all = await home.query<{ cgroup: string }>('select cgroup from process where cgroup is not null')
    expect(all.length).toBeGreaterThan(2)
    expect(all.filter(({ cgroup }) => existsSync(cgroup))).toEqual([])
    const parent = containment.tier === 'cgroup' ? dirname(containment.path) : ''
    expect(
      existsSync(parent) ? readdirSync(parent).filter((name) => all.some(({ cgroup }) => cgroup.includes(name))) : [],
    ).toEqual([])
  })

  it('of a runner that died with its guardian are killed and removed by the next runner', async (context) => {
    await needs('cgroup', context)
    const { home, runner, hidden } = await hiding('cgroup')
    const guardian = processesOf(home.dataDir).find(({ command }) => command.includes('archivebox-ts-guardian'))!
    process.kill(guardian.pid, 'SIGSTOP')
    runner.signal('SIGKILL')
    process.kill(guardian.pid, 'SIGKILL')
    expect((await runner.finished()).signal).toBe('SIGKILL')
    await home.query("update crawl set status = 'paused'")
    const next = home.start(['run'], { env: { CONTAINMENT: 'basic' } })
    await next.says(/leading/)
    expect(isThere(hidden)).toBe(false)
    const all = await home.query<{ cgroup: string }>('select cgroup from process where cgroup is not null')
    expect(all.filter(({ cgroup }) => existsSync(cgroup))).toEqual([])
    next.signal('SIGTERM')
    expect((await next.finished()).code).toBe(0)
  })
})

describe.each(['basic', 'pidns', 'cgroup'] as const)('a browser in the tier %s', (tier) => {
  it('renders a page, and nothing of it is left', async (context) => {
    await needs(tier, context)
    const chromium = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find((path) => existsSync(path))
    if (!chromium) return context.skip('there is no Chromium')
    const home = await homes.make()
    plugin(
      home,
      'browser',
      `${chromium} --headless --no-sandbox --disable-gpu --user-data-dir=profile --dump-dom "$(cut -c7- ` +
        '<<<"$1")" >page.html 2>/dev/null; rm -rf profile',
    )
    const crawl = await home.add('--plugins', 'browser', `${site.url}/page-1.html`)
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], { env: { CONTAINMENT: tier, HOME: '/tmp' } })
    expect(code, stderr).toBe(0)
    const [result] = await resultsOf(home, crawl)
    expect(result).toMatchObject({ status: 'succeeded' })
    expect(result!.output_files['page.html']!.size).toBeGreaterThan(100)
  })
})

describe('an unprivileged user', () => {
  it('gets a PID namespace through a user namespace where the machine lets it, and otherwise the next best', async (context) => {
    if (noOtherUser) return context.skip(noOtherUser)
    const module = join(import.meta.dirname, '../../../src/processes/containment/containment.ts')
    const script = `const { detectContainment } = await import(${JSON.stringify(module)})
      const tiers = []
      for (const wanted of ['auto', 'basic', 'pidns', 'cgroup']) {
        tiers.push(await detectContainment(wanted, 'test').then((found) => found.tier, () => 'none'))
      }
      console.log(JSON.stringify(tiers))`
    const { stdout } = await promisify(execFile)(NODE, ['--input-type=module', '-e', script], {
      ...OTHER_USER,
      cwd: '/',
    })
    const [auto, basic, pidns, cgroup] = JSON.parse(stdout) as string[]
    expect(basic).toBe('basic')
    expect(auto).toBe(cgroup === 'cgroup' ? 'cgroup' : 'basic')
    expect(['pidns', 'none']).toContain(pidns)
  })
})

describe('a setting', () => {
  it.each([['that does not exist', 'jail', /CONTAINMENT=jail: it takes one of auto, basic, pidns, cgroup/]])(
    '%s is refused before anything is changed',
    async (_what, tier, message) => {
      const home = await homes.make()
      const { code, stderr } = await home.run(['run', '--exit-on-idle'], { env: { CONTAINMENT: tier } })
      expect(code).toBe(2)
      expect(stderr).toMatch(message)
      expect(await openRows(home)).toEqual([])
    },
  )
})

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return '' // Gone.
  }
}
