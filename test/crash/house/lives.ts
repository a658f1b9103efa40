import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Failpoint } from '../../../src/base/failpoint.ts'
import { fired } from '../../support/failpoints.ts'
import type { TestHome } from '../../support/homes.ts'
import { pidsOf } from '../../support/observer.ts'
import { isThere, killAll, processesOf } from '../../support/processes.ts'
import { eventually, type Running } from '../../support/program.ts'

/** One way in which a runner's life may go. Together they pass every failpoint. */
export interface Life {
  /** Settings of the crawl that differ from the plain ones. */
  readonly settings?: Readonly<Record<string, string>>
  /** What befalls its processes on the way, as ARCHIVEBOX_FAILPOINTS says it. */
  readonly also?: string
  readonly env?: Readonly<Record<string, string>>
  /** Options of its `run`. */
  readonly options?: readonly string[]
  /** What happens before the runner with the failpoints starts. */
  readonly before?: (home: TestHome) => Promise<unknown>
  /**
   * What happens while it runs. A command that passes the step in its place is started with `env`, in which the
   * failpoints are.
   */
  readonly drive?: (home: TestHome, runner: Running, env: Readonly<Record<string, string>>) => Promise<unknown>
  /** Plugins whose hooks fail in this life. */
  readonly failing?: readonly string[]
  /** How often it may end without a step that it passes, by chance: then it is lived once more. */
  readonly misses?: number
  /** The steps that are passed here, and not in the plain life. */
  readonly passes: readonly Failpoint[]
}

export const PLUGINS = ['headers', 'exit_1', 'stages', 'oracle', 'hashes']

/** Waits until a page's longest hook is at work. */
const working = (home: TestHome) => eventually(() => existsSync(join(home.dataDir, 'oracle.log')))
/** Waits until a process has come to this failpoint, and for the pid of that. */
const reached = (home: TestHome, name: Failpoint) => eventually(() => fired(home).get(name))
/** Waits until whatever is to happen at one of these steps has happened there. */
const struck = (home: TestHome, ...names: Failpoint[]) => eventually(() => names.some((name) => fired(home).has(name)))
const guardians = (home: TestHome) =>
  processesOf(home.dataDir).filter(({ command }) => command.includes('archivebox-ts-guardian'))
/** Waits until a runner has said this; or for its end: nobody waits for it any more. */
const said = (runner: Running, what: RegExp) => eventually(() => what.test(runner.stderr) || runner.isOver)
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const HOOK = 'on_Snapshot__43_exit_1.sh'

/** A program that this machine needs, to be looked up when a crawl begins. */
const needs = (home: TestHome, name: string) =>
  home.query(
    `insert into "binary" (id, machine_id, name, binproviders) select gen_random_uuid(), id, $1, 'env' from machine`,
    [name],
  )
/** Puts a file into one of the plugins. */
const plugin = (home: TestHome, file: string, text: string) =>
  writeFileSync(join(home.dataDir, 'plugins', 'exit_1', file), text)

/** A hook that runs until it is let go, on any page. */
const HELD = '#!/bin/sh\nuntil [ -e "$DATA_DIR/go" ]; do sleep 0.05; done\nexit 1\n'
const waitForRelease = (home: TestHome) => writeFileSync(join(home.dataDir, 'go'), '')
type Hook = { id: string; snapshot_id: string }
/** The row of the first one, when it runs. */
async function begun(home: TestHome): Promise<Hook | undefined> {
  const [row] = await home.query<Hook>(
    "select id, snapshot_id from process where status = 'running' and cmd::text like '%exit_1%'",
  )
  return row
}
const held = (home: TestHome) => eventually(() => begun(home))

/**
 * Takes a process's file descriptors, all but those that it has, until one of these steps is reached.
 * @param name where the process stands still meanwhile
 */
async function withoutDescriptors(home: TestHome, name: Failpoint, until: readonly Failpoint[]): Promise<void> {
  const pid = await reached(home, name)
  const allow = (files: number) =>
    execFileSync('prlimit', ['--pid', String(pid), `--nofile=${files}:`], { stdio: 'ignore' })
  allow(10)
  process.kill(pid, 'SIGCONT')
  await struck(home, ...until)
  try {
    allow(1024)
  } catch (error) {
    if (isThere(pid)) throw error // Else that step was its last.
  }
}

/** Does this while a page's longest hook is at work, however long it takes: then that may come to its end. */
async function atWork(home: TestHome, act: () => unknown): Promise<void> {
  home.hold('oracle')
  await working(home)
  await act()
  home.letGo('oracle')
}

/** The life in which most steps are passed: nothing but work, to the end. */
export const PLAIN = 'archives to the end'

const TAKEN_AWAY = ['claim.lost_results_forgotten', 'claim.renewed'] as const
const UNSTARTED = ['spawn.unstarted_closed'] as const

/** The lives of a runner. */
export const LIVES: Readonly<Record<string, Life>> = {
  [PLAIN]: { passes: [] },
  'has a page taken away, and given back': {
    before: async (home) => plugin(home, HOOK, HELD),
    drive: async (home) => {
      // On a slow machine claims are renewed, and one who does so may stand still, before the hook begins.
      let hook: Hook | undefined
      await eventually(async () => {
        hook = await begun(home)
        return hook ?? TAKEN_AWAY.some((name) => fired(home).has(name))
      })
      if (hook) {
        await home.run(['snapshot', 'pause', hook.snapshot_id])
        await struck(home, ...TAKEN_AWAY)
        await home.run(['snapshot', 'resume', hook.snapshot_id])
      }
      waitForRelease(home)
    },
    passes: TAKEN_AWAY,
  },
  'has a page that is kept apart from another': {
    env: { MAX_SNAPSHOT_WORKERS: '2' },
    before: async (home) => {
      plugin(home, HOOK, HELD)
      await home.run(['run', '--exclude', 'snapshot', '--exit-on-idle'])
      await home.query("update snapshot set attempts = 1, retry_at = now() where url like '%page-2%'")
    },
    drive: async (home) => {
      await struck(home, 'claim.kept_apart')
      waitForRelease(home)
    },
    passes: ['claim.kept_apart'],
  },
  'has a crawl with a limit': {
    before: (home) => home.query('update crawl set max_urls = 100'),
    passes: ['claim.crawl_pages_added'],
  },
  'has a hook that prints without end': {
    before: async (home) => plugin(home, HOOK, '#!/bin/sh\nexec cat /dev/zero\n'),
    passes: ['publish.flood_ended'],
  },
  'has a hook ended by a command': {
    before: async (home) => plugin(home, HOOK, HELD),
    drive: async (home, _runner, env) => {
      const { id } = await held(home)
      home.start(['process', 'kill', id], { env })
      await struck(home, 'registry.tree_killed')
      waitForRelease(home)
    },
    passes: ['registry.tree_killed'],
  },
  'is ended by a command, with all below it': {
    drive: (home, runner, env) =>
      atWork(home, async () => {
        // Else it might be the one who closes the rows.
        const minders = guardians(home)
        for (const { pid } of minders) process.kill(pid, 'SIGSTOP')
        home.start(['process', 'kill', '--force', String(runner.pid)], { env })
        await struck(home, 'registry.end_seen')
        for (const { pid } of minders) if (isThere(pid)) process.kill(pid, 'SIGCONT')
      }),
    passes: ['registry.end_seen'],
  },
  'has no descriptor left for a worker': {
    also: 'guardian.spawned=stop',
    drive: (home) => withoutDescriptors(home, 'guardian.spawned', ['spawn.worker_missing']),
    passes: ['spawn.worker_missing'],
  },
  'has a worker with no descriptor left for a hook': {
    also: 'spawn.hook_row=stop',
    drive: (home) => withoutDescriptors(home, 'spawn.hook_row', UNSTARTED),
    passes: UNSTARTED,
  },
  'begins while a command dies': {
    also: 'lead.recovered=stop',
    drive: async (home) => {
      const leader = await reached(home, 'lead.recovered')
      const command = home.start(['run', '--standby'])
      await eventually(async () => (await pidsOf(home, 'runner_waiting')).length > 0)
      command.signal('SIGKILL')
      await command.finished()
      process.kill(leader, 'SIGCONT')
    },
    passes: ['reap.stale_row_closed'],
  },
  'is to remove files that were deleted elsewhere': {
    before: (home) =>
      home.query(`
        with here as (
          insert into node (id, data_dir, name) select data_dir_id, data_dir, 'here' from process
          order by seq desc limit 1 returning id
        )
        insert into file_job (node_id, what, ids)
        select id, 'page', array['01a22213-2eec-7094-b6b9-c0421a0b21b4'::uuid] from here`),
    passes: ['reap.files_removed'],
  },
  'is asked to leave in the middle of a page': {
    drive: (home, runner) =>
      atWork(home, async () => {
        runner.signal('SIGTERM')
        await said(runner, /draining/)
        await pause(300) // Its workers have heard of it.
      }),
    passes: ['claim.crawl_released', 'claim.snapshot_released', 'shutdown.drain_seen', 'shutdown.row_draining'],
  },
  'is asked twice': {
    misses: 2, // A hook may have ended before it would have been killed.
    drive: (home, runner) =>
      atWork(home, async () => {
        runner.signal('SIGTERM')
        await said(runner, /draining/)
        await pause(300) // Closer together, two signals are one key press.
        runner.signal('SIGTERM')
        await eventually(() => runner.isOver || fired(home).size > 0)
      }),
    passes: ['shutdown.hook_killed', 'shutdown.host_killed'],
  },
  'loses a worker': {
    also: 'publish.hook_settled=kill9',
    passes: ['reap.family_killed', 'reap.rows_closed'],
  },
  'loses a worker between the two renames of a publication': {
    also: 'publish.files_replaced=kill9',
    passes: ['publish.replaced_undone'],
  },
  'cannot record that a hook was started': {
    also: 'spawn.hook_recorded=throw@2',
    passes: ['claim.given_back', 'spawn.hook_row_withdrawn'],
  },
  'has a hook that runs out of time': {
    settings: { ORACLE_SECONDS: '30', ORACLE_TIMEOUT: '0.3' },
    failing: ['oracle'],
    passes: ['publish.late_hook_killed'],
  },
  'gives its pages up': {
    before: (home) => home.query('alter table snapshot alter attempts set default 5'),
    failing: PLUGINS,
    passes: ['publish.hook_given_up'],
  },
  'follows one that was killed': {
    before: async (home) => {
      const former = home.start(['run'])
      await atWork(home, async () => {
        // Else it might leave nothing to reap.
        const minders = guardians(home)
        for (const { pid } of minders) process.kill(pid, 'SIGSTOP')
        former.signal('SIGKILL')
        killAll(minders)
        await former.finished()
      })
    },
    passes: ['gate.backends_ended', 'gate.leftovers_killed'],
  },
  'is killed itself': {
    drive: (home, runner) =>
      atWork(home, async () => {
        runner.signal('SIGKILL')
        await eventually(() => fired(home).size > 0)
      }),
    passes: ['guardian.closed', 'guardian.noticed', 'guardian.reaped'],
  },
  'takes over from one that is at work': {
    settings: { ORACLE_SECONDS: '0.5' },
    before: async (home) => {
      home.start(['run'])
      await working(home)
    },
    passes: ['gate.asked', 'gate.older_gone', 'gate.signalled'],
  },
  'takes over from one that does not listen': {
    settings: { ORACLE_SECONDS: '0.5' },
    options: ['--handoff-grace', '1'],
    before: async (home) => {
      home.start(['run'])
      await working(home)
      for (const pid of await pidsOf(home, 'crawl')) process.kill(pid, 'SIGSTOP') // Its leader waits for it.
    },
    passes: ['gate.killed'],
  },
  'looks a program up': {
    before: (home) => needs(home, 'sh'),
    passes: ['claim.binary_looked_up', 'claim.binary_settled'],
  },
  'looks a program up in vain': {
    before: (home) => needs(home, 'no-such-program'),
    passes: ['claim.binary_settled'],
  },
  'cannot look a program up': {
    also: 'claim.binary_looked_up=throw',
    before: (home) => needs(home, 'sh'),
    passes: ['claim.binary_settled'],
  },
  'comes to a schedule whose last crawl is unfinished': {
    before: (home) =>
      home.query(`
        with added as (
          insert into schedule (id, every, cron, timezone, urls, crawl, next_at, retry_at)
          values (gen_random_uuid(), 'day', '0 0 * * *', 'UTC', 'http://127.0.0.1:9/', '{}', now(), now()) returning id
        )
        update crawl set schedule_id = (select id from added), due_at = now() - interval '1 day'`),
    passes: ['claim.schedule_added', 'claim.schedule_claimed', 'claim.schedule_released'],
  },
  'waits for the turn of its pages at their host': {
    settings: { MANNERS: 'all', HOST_DELAY: '0' },
    // A runner that leaves when nothing is left waits for what is due within 20 s.
    before: (home) =>
      home.query(`insert into host (host, blocked_until) values ('127.0.0.1', now() + interval '18 s')`),
    drive: async (home) => {
      const isPutOff =
        "select count(*) > 0 from snapshot where retry_at > now() + interval '3 s' and claimed_by is null"
      await eventually(async () => fired(home).size > 0 || (await home.value(isPutOff)))
      await home.query('delete from host_turn')
      await home.query('update host set blocked_until = null, next_at = now(), later_at = now()')
      await home.query('update snapshot set retry_at = now() where retry_at > now() and claimed_by is null')
    },
    passes: ['claim.turn_put_off', 'claim.turn_taken'],
  },
  'gives its crawl up': {
    before: async (home) => {
      await home.run(['run', '--exit-on-idle'])
      await home.query("update crawl set status = 'queued', retry_at = now(), attempts = 10")
      await home.query(`
        insert into transition (model, row_id, from_status, to_status, event)
          select 'crawl', id, 'sealed', 'queued', 'retry' from crawl`)
    },
    passes: ['publish.crawl_given_up'],
  },
  'lends its lead to a newer one': {
    options: ['--standby'],
    drive: (home, runner) =>
      atWork(home, async () => {
        home.start(['run', '--exit-on-idle'])
        await said(runner, /newer runner/)
      }),
    passes: ['shutdown.demoted'],
  },
}

/** The life in which a step is passed. */
export function lifeOf(name: Failpoint): string {
  return Object.entries(LIVES).find(([, { passes }]) => passes.includes(name))?.[0] ?? PLAIN
}
