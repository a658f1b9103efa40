import { insistOn } from '../calm.ts'
import type { Kind } from '../kinds.ts'
import type { Victim } from '../victims.ts'
import type { World } from '../world.ts'

const signal =
  (victim: Victim, name: NodeJS.Signals): Kind['inflict'] =>
  (world, { pick }) => {
    const pid = world.choose(victim, pick)
    if (pid === undefined) return `no ${victim} is there`
    world.signal(pid, name)
    return `${victim} ${pid}`
  }

const THE_PROGRAM = "datname = current_database() and application_name like 'archivebox-ts %'"

/** Cuts every connection of the program. */
async function cut(world: World): Promise<string> {
  const rows = await world.sql<{ pid: number }>(
    `select pid, pg_terminate_backend(pid) from pg_stat_activity where ${THE_PROGRAM}`,
  )
  return `${rows.length} connections`
}

async function readOnly(world: World, on: boolean): Promise<void> {
  const name = (await world.sql<{ name: string }>('select quote_ident(current_database()) as name'))[0]!.name
  await world.sql(`begin read write; alter database ${name} set default_transaction_read_only = ${on}; commit`)
  await cut(world)
}

export const DATABASE = {
  'kill -9 postmaster': { weight: 2, inflict: signal('postmaster', 'SIGKILL') },
  'kill -9 backend': { weight: 1, inflict: signal('backend', 'SIGKILL') },
  'INT postmaster (fast stop)': { weight: 1, inflict: signal('postmaster', 'SIGINT') },
  'QUIT postmaster (immediate stop)': { weight: 1, inflict: signal('postmaster', 'SIGQUIT') },
  'TERM backend': { weight: 2, inflict: signal('backend', 'SIGTERM') },
  'cut every connection': { weight: 2, inflict: cut },
  'lock a table': {
    weight: 2,
    inflict: async (world, { pick, ms }) => {
      const table = ['process', 'crawl', 'snapshot', 'archive_result', 'runner_term'][Math.floor(pick * 5)]!
      const connection = await world.connect()
      await connection.query(`begin; lock table ${table} in access exclusive mode`)
      world.later(ms * 3, () => connection.end())
      return `${table} for ${((ms * 3) / 1000).toFixed(1)} s`
    },
  },
  'use up the connections': {
    weight: 1,
    inflict: async (world, { ms }) => {
      const taken = await Promise.allSettled(Array.from({ length: 120 }, () => world.connect()))
      const connections = taken.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
      world.later(ms, () => Promise.all(connections.map((connection) => connection.end())))
      return `${connections.length} for ${(ms / 1000).toFixed(1)} s`
    },
  },
  'read-only database': {
    weight: 1,
    inflict: async (world, { ms }) => {
      await readOnly(world, true)
      world.later(ms * 2, () => insistOn(() => readOnly(world, false)))
      return `for ${((ms * 2) / 1000).toFixed(1)} s`
    },
  },
} as const satisfies Record<string, Kind>
