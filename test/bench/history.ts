import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Home } from '../../src/db/home.ts'
import { bootId, pidNamespace } from '../../src/processes/proc.ts'
import type { Figure } from './figures.ts'
import { withHome } from './home.ts'
import { archivebox } from './program.ts'

const MANY = 1_000_000

/**
 * What a million ended processes, and as many transitions, cost a runner that comes and goes. The rival: an empty
 * archive.
 */
export async function history(rounds: number): Promise<Figure[]> {
  const values = {
    empty: [] as number[],
    remembered: [] as number[],
    overdue: [] as number[],
    status: [] as number[],
    noStatus: [] as number[],
  }
  await withHome(async (young) => {
    await withHome(async (old) => {
      await grow(old)
      for (let round = -1; round < rounds; round += 1) {
        const taken = {
          empty: await comeAndGo(young),
          remembered: await comeAndGo(old),
          overdue: await comeAndGo(old, 1),
          noStatus: await ms(young, 'status', '--json'),
          status: await ms(old, 'status', '--json'),
        }
        if (round >= 0)
          for (const name of Object.keys(values) as (keyof typeof values)[]) values[name].push(taken[name])
      }
    })
  })
  const figure = (what: string, name: keyof typeof values, rival: keyof typeof values): Figure => ({
    bench: 'history',
    what,
    unit: 'ms',
    values: values[name],
    rival: { name: 'an empty archive', values: values[rival] },
    target: { atMost: 1.2, of: 'ratio' },
  })
  return [
    figure('run --exit-on-idle, a million old processes', 'remembered', 'empty'),
    figure('run --exit-on-idle, a million to be forgotten', 'overdue', 'empty'),
    figure('status, a million old processes', 'status', 'noStatus'),
  ]
}

async function comeAndGo(home: Home, days = 30): Promise<number> {
  writeFileSync(join(home.dataDir, 'archivebox.toml'), `HISTORY_DAYS = ${days}\n`)
  return await ms(home, 'run', '--exit-on-idle')
}

/** Its exit code may be that of an archive without a runner. */
async function ms({ dataDir }: Home, ...args: string[]): Promise<number> {
  const begun = performance.now()
  await archivebox(dataDir, ...args).catch((error: unknown) => {
    if (args[0] !== 'status') throw error
  })
  return performance.now() - begun
}

/** Four weeks of them: hooks, and each hundredth a runner that led here. */
async function grow({ db, machineId, dataDir, dataDirId }: Home): Promise<void> {
  const batch = 100_000
  for (let from = 0; from < MANY; from += batch) {
    await sql`
      insert into process (id, machine_id, data_dir, data_dir_id, process_type, worker_type, status, boot_id,
        pid_namespace, pid, start_ticks,
        started_at, heartbeat_at, created_at, ended_at, promoted_at, term, exit_code)
      select gen_random_uuid(), ${machineId}, ${dataDir}, ${dataDirId}, case when leads then 'orchestrator'
        else 'hook' end,
        case when leads then 'worker_runner'
          else '' end, 'exited', ${bootId()}, ${pidNamespace()}, 1000 + n, n, at, at, at, at,
        case when leads then at end, case when leads then n - ${MANY} end, 0
      from (select n, n % 100 = 0 as leads, now() - interval '1 day 1 hour' - (${MANY} - n) * interval '2.2 s' as at
        from generate_series(${from}::int + 1, ${from + batch}::int) n) as old`.execute(db)
    await sql`
      insert into transition (model, row_id, from_status, to_status, event, at)
      select 'archive_result', gen_random_uuid(), 'started', 'succeeded', 'succeed',
        now() - interval '1 day 1 hour' - (${MANY} - n) * interval '2.2 s'
          from generate_series(${from}::int + 1, ${from + batch}::int) n`.execute(db)
  }
  await sql`vacuum analyze process, transition`.execute(db)
  await sql`checkpoint`.execute(db)
}
