import { defineMachine, type Handler, Runner, type RunnerOptions, withHandlers } from '../../src/engine/index.ts'
import { columns, JOB_TABLE, type Job, TRANSITION_TABLE } from '../fixtures/engine/job.ts'
import { type TestDatabase, useDatabases } from './engine.ts'

/** Retries quickly, and gives up after three attempts. */
export const quick = defineMachine({
  ...{ name: 'quick', table: 'job', idType: 'bigint', columns, history: true, initial: 'queued' },
  states: {
    queued: { on: { finish: 'done', pause: 'paused' }, retryAfterMs: 20, giveUp: { after: 3, to: 'failed' } },
    paused: { on: { resume: 'queued' }, external: true },
    done: { final: true },
    failed: { final: true },
  },
})

/** The handler that a test gives a queued job. */
export type Work = Handler<typeof quick, 'queued', Job>

/** A database of quick jobs for each test of a file. */
export function useQuickJobs(): () => Promise<TestDatabase> {
  const databases = useDatabases()
  return () => databases.make(JOB_TABLE, TRANSITION_TABLE)
}

/** Queues a job for each note. */
export async function addJobs(database: TestDatabase, ...notes: string[]): Promise<void> {
  for (const note of notes) await database.query('insert into job (note) values ($1)', [note])
}

/** The number of jobs that are not finished. */
export async function openJobs(database: TestDatabase): Promise<number> {
  return await database.value<number>(`select count(*)::int from job where status not in ('done', 'failed')`)
}

/** The status of each job, by its note. */
export async function jobStatuses(database: TestDatabase): Promise<Record<string, unknown>> {
  return Object.fromEntries(
    (await database.query('select note, status from job')).map(({ note, status }) => [note, status]),
  )
}

/** A runner with one handler, and its reports. */
export function runnerOf(
  database: TestDatabase,
  work: Work,
  options: Partial<RunnerOptions> & { readonly leaseSeconds?: number } = {},
) {
  const { leaseSeconds, ...rest } = options
  const reports: { error: Error; id: string | undefined }[] = []
  const runner = new Runner({
    sql: database.sql,
    models: [
      { handlers: withHandlers<typeof quick, Job>(quick, { queued: work }), ...(leaseSeconds ? { leaseSeconds } : {}) },
    ],
    watchdog: false,
    onError: (error, claim) => reports.push({ error, id: claim?.id }),
    ...rest,
  })
  return { runner, reports }
}
