import type { Kind } from '../kinds.ts'

/** One of the live rows of processes of such a type, chosen by `$1` from 0 to 1. */
const chosen = (where: string) => `
  (select id from process where status = 'running' and ${where} order by seq
   offset floor($1::float8 * (select count(*) from process where status = 'running' and ${where})) limit 1)`

const anyProcess = "process_type in ('orchestrator', 'worker', 'hook')"

/** Edits the row of a process; whoever observes forgives what can only look wrong by that. */
const edit =
  (where: string, change: string): Kind['inflict'] =>
  async (world, { pick }) => {
    const [row] = await world.sql<{ id: string; worker_type: string; process_type: string; pid: number }>(
      `update process set ${change} where id = ${chosen(where)} returning id, worker_type, process_type, pid`,
      [pick],
    )
    if (!row) return 'no such row'
    world.forgive(row.id)
    return `${row.worker_type || row.process_type} ${row.id}`
  }

const editWork =
  (model: 'crawl' | 'snapshot', change: string, where: string): Kind['inflict'] =>
  async (world, { pick }) => {
    const rows = await world.sql<{ id: string }>(
      `update ${model} set ${change} where id =
         (select id from ${model} where ${where}
           order by id offset floor($1::float8 * (select count(*) from ${model} where ${where})) limit 1)
       returning id`,
      [pick],
    )
    return rows[0]?.id ?? 'no such row'
  }

/**
 * Rows that somebody edits by hand. A status is left alone: it is what the program goes by, and its history is what is
 * judged.
 */
export const ROWS = {
  'by hand: a living process has exited': {
    weight: 3,
    inflict: edit(anyProcess, "status = 'exited', exit_code = 0, ended_at = now()"),
  },
  'by hand: the leader has exited': {
    weight: 1,
    inflict: edit("worker_type = 'worker_runner'", "status = 'exited', exit_code = 0, ended_at = now()"),
  },
  'by hand: a process is another one': {
    weight: 2,
    inflict: async (world, chance) => await edit(anyProcess, `pid = ${world.innocentPid}`)(world, chance),
  },
  'by hand: a process started at another time': {
    weight: 1,
    inflict: edit(anyProcess, 'start_ticks = start_ticks + 1'),
  },
  'by hand: a process belongs to another boot': { weight: 1, inflict: edit(anyProcess, "boot_id = 'another boot'") },
  'by hand: a page is taken from its worker': {
    weight: 2,
    inflict: editWork(
      'snapshot',
      'claim_token = null, claimed_by = null, retry_at = now()',
      "status = 'started' and claim_token is not null",
    ),
  },
  'by hand: a crawl is taken from its worker': {
    weight: 1,
    inflict: editWork(
      'crawl',
      'claim_token = null, claimed_by = null, retry_at = now()',
      "status = 'started' and claim_token is not null",
    ),
  },
  'by hand: a claimed page is due': {
    weight: 2,
    inflict: editWork(
      'snapshot',
      "retry_at = now() - interval '1 hour'",
      "status = 'started' and claim_token is not null",
    ),
  },
  'by hand: a page has no schedule': {
    weight: 1,
    inflict: editWork('snapshot', 'retry_at = null', "status = 'queued'"),
  },
  'by hand: another term': {
    weight: 1,
    inflict: async (world) => {
      await world.sql('update runner_term set term = term + 1')
      return 'raised'
    },
  },
} as const satisfies Record<string, Kind>
