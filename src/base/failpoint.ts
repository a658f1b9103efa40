import { appendFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * The points where a test may stop, kill or delay one of our processes. One follows each seam: a row written or closed,
 * a process spawned or killed, a claim, a publication, a promotion. Named `<area>.<step just done>`.
 */
export const FAILPOINTS = [
  'adopt.batch_taken',
  'claim.binary_looked_up',
  'claim.binary_settled',
  'claim.crawl_pages_added',
  'claim.crawl_released',
  'claim.crawl_started',
  'claim.given_back',
  'claim.kept_apart',
  'claim.lost_results_forgotten',
  'claim.made',
  'claim.renewed',
  'claim.results_prepared',
  'claim.schedule_added',
  'claim.schedule_claimed',
  'claim.schedule_released',
  'claim.snapshot_released',
  'claim.turn_put_off',
  'claim.turn_taken',
  'delete.files_aside',
  'delete.settled',
  'gate.asked',
  'gate.backends_ended',
  'gate.killed',
  'gate.leftovers_killed',
  'gate.locked',
  'gate.looked',
  'gate.older_gone',
  'gate.promoted',
  'gate.reaped',
  'gate.registered',
  'gate.signalled',
  'guardian.closed',
  'guardian.noticed',
  'guardian.reaped',
  'guardian.spawned',
  'guardian.up',
  'heartbeat.beaten',
  'lead.recovered',
  'move.configured',
  'move.copied',
  'move.marked',
  'move.read',
  'move.stopped',
  'move.unmarked',
  'publish.background_ended_early',
  'publish.background_reaped',
  'publish.crawl_given_up',
  'publish.crawl_sealed',
  'publish.failed_set_aside',
  'publish.file_aside',
  'publish.file_renamed',
  'publish.files_aside',
  'publish.files_published',
  'publish.files_renamed',
  'publish.files_replaced',
  'publish.flood_ended',
  'publish.hook_given_up',
  'publish.hook_leftovers_killed',
  'publish.hook_row_closed',
  'publish.hook_settled',
  'publish.hook_settling',
  'publish.hosted_hook_ended',
  'publish.late_hook_killed',
  'publish.page_findings_added',
  'publish.page_sealed',
  'publish.page_written',
  'publish.replaced_undone',
  'publish.results_written',
  'reap.family_killed',
  'reap.files_removed',
  'reap.rows_closed',
  'reap.stale_row_closed',
  'registry.end_seen',
  'registry.tree_killed',
  'shutdown.demoted',
  'shutdown.drain_seen',
  'shutdown.family_killed',
  'shutdown.hook_killed',
  'shutdown.hook_left',
  'shutdown.host_killed',
  'shutdown.host_row_closed',
  'shutdown.row_closed',
  'shutdown.row_draining',
  'shutdown.worker_row_closed',
  'shutdown.workers_gone',
  'spawn.hook_recorded',
  'spawn.hook_row',
  'spawn.hook_row_withdrawn',
  'spawn.hook_running',
  'spawn.hook_spawned',
  'spawn.host_row',
  'spawn.host_running',
  'spawn.host_spawned',
  'spawn.unstarted_closed',
  'spawn.worker_missing',
  'spawn.worker_row',
  'spawn.worker_running',
  'spawn.worker_spawned',
] as const

export type Failpoint = (typeof FAILPOINTS)[number]

// Not a setting: only tests use it, and it must not appear in lists of settings or archivebox.toml.
const wanted = parse(process.env['ARCHIVEBOX_FAILPOINTS'])
const passed = process.env['ARCHIVEBOX_FAILPOINTS_PASSED']

/**
 * Does what `ARCHIVEBOX_FAILPOINTS` requests for this point; without it (always, except in tests) nothing.
 * `name=action[@n]`, separated by `;`: at the n-th passing (default 1), `kill9`, `term` or `stop` this process, `exit`,
 * `throw` or `throw:<code>`, `reject` (an uncaught rejection), `sleep:<ms>` or `block:<ms>` (the process with it). With
 * `ARCHIVEBOX_FAILPOINTS_FIRED=folder` each fires once among all processes: a link `failpoint.<name>` in there names
 * the pid of that process. With `ARCHIVEBOX_FAILPOINTS_PASSED=file` all processes log to that file what they pass.
 */
export async function failpoint(name: Failpoint): Promise<void> {
  if (passed) appendFileSync(passed, `${name}\n`)
  const asked = wanted?.get(name)
  if (!asked) return
  asked.passed += 1
  if (asked.passed !== asked.at || !firstAmongAll(name)) return
  const [action, argument] = asked.action.split(':')
  if (action === 'kill9') process.kill(process.pid, 'SIGKILL')
  else if (action === 'term') process.kill(process.pid, 'SIGTERM')
  else if (action === 'stop') process.kill(process.pid, 'SIGSTOP')
  else if (action === 'exit') process.exit(1)
  else if (action === 'throw') throw Object.assign(new Error(`failpoint ${name}`), { code: argument })
  else if (action === 'reject') void Promise.reject(new Error(`failpoint ${name}`))
  else if (action === 'block') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(argument))
  else if (action === 'sleep') await delay(Number(argument))
  else throw new Error(`unknown action "${asked.action}" for the failpoint ${name}`)
}

interface Asked {
  readonly action: string
  readonly at: number
  passed: number
}

function parse(text: string | undefined): Map<string, Asked> | undefined {
  if (!text) return undefined
  return new Map(
    text.split(';').map((part) => {
      const match = /^([\w.-]+)=([\w:]+?)(?:@(\d+))?$/.exec(part.trim())
      if (!match || !(FAILPOINTS as readonly string[]).includes(match[1]!))
        throw new Error(`ARCHIVEBOX_FAILPOINTS: cannot read "${part}"`)
      return [match[1]!, { action: match[2]!, at: Number(match[3] ?? 1), passed: 0 }]
    }),
  )
}

function firstAmongAll(name: string): boolean {
  // Not a setting either.
  const folder = process.env['ARCHIVEBOX_FAILPOINTS_FIRED']
  if (!folder) return true
  try {
    // Atomic, won by one process, and needs no file descriptor.
    symlinkSync(String(process.pid), join(folder, `failpoint.${name}`))
    return true
  } catch {
    return false
  }
}
