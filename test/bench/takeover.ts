import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Home } from '../../src/db/home.ts'
import { membersOf } from '../../src/processes/family.ts'
import { MARKER } from '../../src/processes/marks.ts'
import type { Figure } from './figures.ts'
import { withHome } from './home.ts'
import { archivebox, nodeStartMs, until } from './program.ts'
import { standsBy, startRunner, stop } from './runner.ts'

const CROWD = 20
const LOOK_MS = 2

/** How long the lead takes to change hands: asked for, by force, and among many. */
export async function takeover(rounds: number): Promise<Figure[]> {
  const values = {
    extra: [] as number[],
    gap: [] as number[],
    busy: [] as number[],
    swept: [] as number[],
    heir: [] as number[],
    crowd: [] as number[],
  }
  await withHome(async (home) => {
    stayingHook(home)
    for (let round = -1; round < rounds; round += 1) {
      const taken = { ...(await idle(home)), ...(await busy(home)), ...(await killed(home)), crowd: await crowd(home) }
      if (round >= 0) for (const name of Object.keys(values) as (keyof typeof values)[]) values[name].push(taken[name])
    }
  })
  const figure = (what: string, unit: Figure['unit'], name: keyof typeof values, atMost: number): Figure => ({
    bench: 'takeover',
    what,
    unit,
    values: values[name],
    target: { atMost, of: 'value' },
  })
  return [
    figure('idle leader, spawn to work loop, beyond 2 x node -e 0', 'ms', 'extra', 60),
    figure('idle leader, nobody leads for', 'ms', 'gap', 25),
    figure('busy leader, hook that ignores SIGTERM', 's', 'busy', 12),
    figure('leader killed: its workers and hooks gone', 's', 'swept', 1),
    figure('leader killed: the standby leads', 's', 'heir', 1),
    figure(`${CROWD} runners at once: the newest leads, the others are gone`, 's', 'crowd', 5),
  ]
}

async function idle(home: Home): Promise<{ extra: number; gap: number }> {
  const node = await nodeStartMs()
  const old = startRunner(home)
  await old.leading
  const next = startRunner(home)
  const [ledAt, { at: goneAt }] = await Promise.all([next.leading, old.gone])
  await stop(next)
  return { extra: ledAt - next.spawnedAt - 2 * node, gap: ledAt - goneAt }
}

async function busy(home: Home): Promise<{ busy: number }> {
  const old = startRunner(home)
  await old.leading
  await stayingPage(home)
  const next = startRunner(home)
  const ledAt = await next.leading
  await stop(next, 'SIGKILL')
  await quiet(home)
  return { busy: (ledAt - next.spawnedAt) / 1_000 }
}

async function killed(home: Home): Promise<{ swept: number; heir: number }> {
  const old = startRunner(home)
  await old.leading
  await stayingPage(home)
  const { rows } = await sql<{
    id: string
  }>`select id from process where pid = ${old.child.pid} and status = 'running'`.execute(home.db)
  const heir = startRunner(home, '--standby')
  await until('the standby', 20, async () => (await standsBy(home, heir.child.pid!)) || undefined)
  old.child.kill('SIGKILL')
  const { at: diedAt } = await old.gone
  const family = { markers: [`${MARKER.runner}=${rows[0]!.id}`] }
  const reapedAt = until('the reaping', LOOK_MS, async () =>
    (await membersOf(family)).length === 0 ? performance.now() : undefined,
  )
  const [ledAt, gone] = await Promise.all([heir.leading, reapedAt])
  await stop(heir, 'SIGKILL')
  await quiet(home)
  return { swept: (gone - diedAt) / 1_000, heir: (ledAt - diedAt) / 1_000 }
}

async function crowd(home: Home): Promise<number> {
  const begun = performance.now()
  const runners = Array.from({ length: CROWD }, () => startRunner(home))
  const spread = performance.now() - begun
  if (spread > 200) console.error(`careful: starting ${CROWD} runners took ${spread.toFixed(0)} ms`)
  const leader = await until('one leader', LOOK_MS, async () => {
    const there = runners.filter(({ child }) => child.exitCode === null && child.signalCode === null)
    return there.length === 1 ? there[0] : undefined
  })
  const ledAt = await leader.leading
  const ms = Math.max(ledAt, performance.now()) - begun
  for (const runner of runners) {
    if (runner !== leader && (await runner.gone).code !== 0)
      throw new Error(`a superseded runner ended with ${(await runner.gone).code}`)
  }
  await stop(leader)
  return ms / 1_000
}

/** A background hook that no SIGTERM ends, with 120 s to go. */
function stayingHook(home: Home): void {
  const folder = join(home.dataDir, 'plugins', 'stays')
  mkdirSync(folder, { recursive: true })
  const hook = join(folder, 'on_Snapshot__10_stays.daemon.bg.sh')
  writeFileSync(hook, `#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 1; done\n`)
  chmodSync(hook, 0o755)
}

async function stayingPage(home: Home): Promise<void> {
  await archivebox(
    home.dataDir,
    'add',
    '--plugins',
    'stays',
    '-c',
    'STAYS_TIMEOUT=120',
    `http://127.0.0.1:9/${performance.now()}`,
  )
  await until('the hook', 20, async () => {
    const { rows } = await sql`select 1 from process where process_type = 'hook' and status = 'running'`.execute(
      home.db,
    )
    return rows.length > 0 || undefined
  })
}

/** Nothing of the last measure is left to do in the next. */
async function quiet(home: Home): Promise<void> {
  await sql`delete from crawl`.execute(home.db)
  const last = startRunner(home)
  await last.leading
  await stop(last)
}
