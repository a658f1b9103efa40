import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FAILPOINTS, type Failpoint } from '../../../src/base/failpoint.ts'
import { failpoints, fired } from '../../support/failpoints.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { Observer } from '../../support/observer.ts'
import { isThere } from '../../support/processes.ts'
import { eventually } from '../../support/program.ts'
import { NIGHTLY, SEED, sample } from '../../support/seed.ts'
import { type Site, startSite } from '../../support/site.ts'
import { printed, verdict } from '../../support/verdict.ts'
import { LIVES, lifeOf, PLAIN, PLUGINS } from './lives.ts'

const ACTIONS = ['kill9', 'stop', 'term'] as const
type Action = (typeof ACTIONS)[number]

/** Every night each step of each life. Else so many steps of the plain life, and so many of the others, one each. */
const SHORT = { kill9: [12, Object.keys(LIVES).length], stop: [3, 3], term: [3, 3] } as const

/** Steps of commands that no runner takes part in have tests of their own. */
const STEPS = FAILPOINTS.filter((name) => !/^(adopt|delete|move)\./.test(name))

function chosen(action: Action): readonly Failpoint[] {
  if (NIGHTLY) return STEPS
  const [plain, special] = SHORT[action]
  const others = Object.values(LIVES).flatMap(({ passes }) => sample(passes, 1, action))
  const steps = [
    ...sample(
      STEPS.filter((name) => lifeOf(name) === PLAIN),
      plain,
      action,
    ),
    ...sample(others, special, action),
  ]
  return STEPS.filter((name) => steps.includes(name))
}

const homes = useHomes({ MAX_SNAPSHOT_WORKERS: '1' })
let site: Site
let observer: Observer
let original: TestHome
let urls: string[]

beforeAll(async () => {
  site = await startSite(2)
  observer = new Observer()
  await observer.up
  urls = [1, 2].map((number) => `${site.url}/page-${number}.html`)
  original = await homes.original()
  original.install('exit_1', 'oracle', 'stages')
  await original.add('--plugins', PLUGINS.join(','), '-c', 'ORACLE_SECONDS=0.05', ...urls)
})
afterAll(async () => {
  observer.close()
  await site.close()
})

/**
 * Lets one process of a runner end, or stand still, at a step; then sees what becomes of the work.
 * @param mayMiss whether the life may end without that step
 * @returns false when it did
 */
async function scenario(name: Failpoint, action: Action, mayMiss: boolean): Promise<boolean> {
  const life = LIVES[lifeOf(name)]!
  const home = await homes.clone(original)
  try {
    await home.query("update crawl set config = jsonb_set(config, '{env}', config -> 'env' || $1)", [
      JSON.stringify(life.settings ?? {}),
    ])
    await life.before?.(home)
    observer.watch(home)
    const points = [...(life.also ? [life.also] : []), `${name}=${action}`].join(';')
    const env = { ...failpoints(home, points), ...life.env }
    const runner = home.start(['run', '--exit-on-idle', ...(life.options ?? [])], { env })
    await life.drive?.(home, runner, env)
    const victim = await eventually(() => fired(home).get(name) ?? (mayMiss && runner.isOver)).catch(() => {
      throw new Error(`${name} was not passed: give it a life in which it is\n${runner.stderr}`)
    })
    if (typeof victim !== 'number') {
      await observer.unwatch(home)
      return false
    }
    const said = [runner.stderr]
    if (action !== 'stop') said.push((await runner.finished()).stderr)
    const next = await home.run(['run', '--exit-on-idle'])
    expect(next.code, next.stderr).toBe(0)
    if (isThere(victim)) process.kill(victim, 'SIGCONT') // Far too late: it may do nothing any more.
    for (const started of home.started) await started.finished()
    await eventually(() => !isThere(victim))
    const observed = await observer.unwatch(home)
    expect(observed.looks).toBeGreaterThan(0)
    const findings = await verdict(home, { urls, observed })
    expect(
      findings.flatMap(({ broken }) => broken),
      `${printed(findings)}\n${said.join('\n')}\n${next.stderr}`,
    ).toEqual([])
    await expectResults(home, life.failing ?? [])
    return true
  } finally {
    await homes.discard(home)
  }
}

/** Every hook has its one result on every page, and only those failed that fail in any case. */
async function expectResults(home: TestHome, failing: readonly string[]): Promise<void> {
  const results = await home.query<{ plugin: string; status: string }>(
    'select plugin, hook_name, status, output_str from archive_result where attempt = 1',
  )
  expect(results).toHaveLength(9 * urls.length)
  const wrong = results.filter(
    ({ plugin, status }) => status === 'failed' && plugin !== 'exit_1' && !failing.includes(plugin),
  )
  expect(wrong).toEqual([])
}

describe.each(ACTIONS)(`%s (${NIGHTLY ? 'every step' : `a sample: SEED=${SEED}`})`, (action) => {
  it.concurrent.each(chosen(action))('at %s costs nothing but time', async (name) => {
    for (let misses = LIVES[lifeOf(name)]!.misses ?? 0; !(await scenario(name, action, misses > 0)); misses -= 1);
  })
})
