import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Failpoint } from '../../src/base/failpoint.ts'
import type { TestHome } from '../support/homes.ts'
import { pidsOf } from '../support/observer.ts'
import { eventually, type Running } from '../support/program.ts'

/** One way in which a runner's life may go. Together they pass every failpoint. */
export interface Life {
  /** Settings of the crawl that differ from the plain ones. */
  readonly settings?: Readonly<Record<string, string>>
  /** What befalls its processes on the way, as ARCHIVEBOX_FAILPOINTS says it. */
  readonly also?: string
  /** Options of its `run`. */
  readonly options?: readonly string[]
  /** What happens before the runner with the failpoints starts. */
  readonly before?: (home: TestHome) => Promise<unknown>
  /** What happens while it runs. */
  readonly drive?: (home: TestHome, runner: Running, crawl: string) => Promise<unknown>
  /** Plugins whose hooks fail in this life. */
  readonly failing?: readonly string[]
  /** The steps that are passed here, and not in the plain life. */
  readonly passes: readonly Failpoint[]
}

export const PLUGINS = ['headers', 'exit_1', 'stages', 'oracle', 'hashes']

/** Waits until a page's longest hook is at work. */
const working = (home: TestHome) => eventually(() => existsSync(join(home.dataDir, 'oracle.log')))
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** A program that this machine needs, to be looked up when a crawl begins. */
const needs = (home: TestHome, name: string) =>
  home.query(`insert into "binary" (id, machine_id, name, binproviders) select gen_random_uuid(), id, $1, 'env' from machine`, [name])
/** Puts a file into one of the plugins. */
const plugin = (home: TestHome, file: string, text: string) => writeFileSync(join(home.dataDir, 'plugins', 'exit_1', file), text)

/** The life in which most steps are passed: nothing but work, to the end. */
export const PLAIN = 'archives to the end'

/** The lives of a runner. */
export const LIVES: Readonly<Record<string, Life>> = {
  [PLAIN]: { passes: [] },
  'is asked to leave in the middle of a page': {
    settings: { ORACLE_SECONDS: '0.5' },
    drive: async (home, runner) => {
      await working(home)
      runner.signal('SIGTERM')
    },
    passes: [
      'claim.crawl_released',
      'claim.crawl_releasing',
      'claim.snapshot_released',
      'publish.crawl_page_left',
      'shutdown.drain_seen',
      'shutdown.row_draining',
    ],
  },
  'is asked twice': {
    settings: { ORACLE_SECONDS: '1.5' },
    drive: async (home, runner) => {
      await working(home)
      runner.signal('SIGTERM')
      await pause(300) // Closer together, two signals are one key press.
      runner.signal('SIGTERM')
    },
    passes: ['shutdown.hook_killed', 'shutdown.host_killed'],
  },
  'loses a worker': {
    also: 'publish.hook_settled=kill9',
    passes: ['reap.claims_due', 'reap.descendants_closed', 'reap.family_killed', 'reap.rows_closed', 'reap.rows_closing'],
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
    passes: ['publish.late_hook_asked', 'publish.late_hook_killed'],
  },
  'gives its pages up': {
    before: (home) => home.query('alter table snapshot alter attempts set default 5'),
    failing: PLUGINS,
    passes: ['publish.hook_given_up'],
  },
  'follows one that was killed': {
    settings: { ORACLE_SECONDS: '0.5' },
    before: async (home) => {
      const former = home.start(['run'])
      await working(home)
      former.signal('SIGKILL')
      await former.finished()
    },
    passes: ['sweep.backends_ended', 'sweep.killed'],
  },
  'is killed itself': {
    settings: { ORACLE_SECONDS: '0.5' },
    drive: async (home, runner) => {
      await working(home)
      runner.signal('SIGKILL')
    },
    passes: ['watchdog.closed', 'watchdog.noticed', 'watchdog.swept'],
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
    passes: ['claim.binary_claimed', 'claim.binary_installed', 'claim.binary_looked_up'],
  },
  'looks a program up in vain': {
    before: (home) => needs(home, 'no-such-program'),
    passes: ['claim.binary_put_off'],
  },
  'cannot look a program up': {
    also: 'claim.binary_looked_up=throw',
    before: (home) => needs(home, 'sh'),
    passes: ['claim.binary_given_back'],
  },
  'lacks a program that a plugin needs': {
    before: async (home) => plugin(home, 'config.json', '{"required_binaries": ["no-such-program"]}'),
    passes: ['publish.hook_skipped'],
  },
  'has a hook that asks for a program': {
    before: async (home) =>
      plugin(home, 'on_Snapshot__43_exit_1.sh', `#!/bin/sh\necho '{"type": "BinaryRequest", "name": "sh"}'\nexit 1\n`),
    passes: ['claim.binaries_requested'],
  },
  'gives its crawl up': {
    before: async (home) => {
      await home.run(['run', '--exit-on-idle'])
      await home.query("update crawl set status = 'queued', retry_at = now(), attempts = 10")
      await home.query(`
        insert into transition (model, row_id, from_status, to_status, event) select 'crawl', id, 'sealed', 'queued', 'retry' from crawl`)
    },
    passes: ['publish.crawl_given_up'],
  },
  'lends its lead to a newer one': {
    settings: { ORACLE_SECONDS: '0.5' },
    options: ['--standby'],
    drive: async (home) => {
      await working(home)
      home.start(['run', '--exit-on-idle'])
    },
    passes: ['shutdown.stepped_back'],
  },
}

/** The life in which a step is passed. */
export function lifeOf(name: Failpoint): string {
  return Object.entries(LIVES).find(([, { passes }]) => passes.includes(name))?.[0] ?? PLAIN
}

export const failpointLog = (home: TestHome) => join(home.dataDir, 'failpoints.log')

/** The failpoints that have fired, each with the pid of the process in which it did. */
export function fired(home: TestHome): Map<string, number> {
  const log = failpointLog(home)
  const lines = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []
  return new Map(lines.map((line) => [line.split(' ')[0]!, Number(line.split(' ')[1])]))
}
