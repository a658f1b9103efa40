import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Queue, Runner, WATCHDOG_EXIT_CODE, withHandlers } from '../../../src/engine/index.ts'
import { JOB_TABLE, job, TRANSITION_TABLE } from '../../fixtures/engine/job.ts'
import { gate, useDatabases } from '../../support/engine.ts'
import { eventually, NODE, ROOT, Running } from '../../support/program.ts'

const databases = useDatabases()
const script = join(ROOT, 'test', 'fixtures', 'engine', 'blocked-runner.ts')

it.each(['loop', 'promises', 'wait'])('a runner that is blocked (%s) ends with its own exit code', async (how) => {
  const database = await databases.make(JOB_TABLE, TRANSITION_TABLE, 'insert into job default values')
  const { code, signal, stderr } = await new Running(spawn(NODE, [script, database.url, how]), [how]).finished()
  expect({ code, signal }, stderr).toEqual({ code: WATCHDOG_EXIT_CODE, signal: null })
  expect(stderr).toMatch(
    /^blocking\nwatchdog: the loop has been silent for 1000 ms, ending process \d+ with exit code 70\n/,
  )
  // Whoever has seen it die takes its row over.
  const queue = new Queue(job, database.sql)
  const owners = (await database.query('select claimed_by::text as owner from job')).map(({ owner }) => String(owner))
  expect(await queue.requeueClaimsOf(owners)).toBe(1)
  expect(await queue.claim()).toMatchObject([{ id: '1', attempts: 2 }])
})

it('a runner that is blocked inside the system, where no code reaches it, is killed, and says why', async () => {
  const database = await databases.make(JOB_TABLE, TRANSITION_TABLE, 'insert into job default values')
  const child = spawn(NODE, [script, database.url, 'system'], { detached: true })
  try {
    const { code, signal, stderr } = await new Running(child, ['system']).finished()
    expect({ code, signal }, stderr).toEqual({ code: null, signal: 'SIGKILL' })
    expect(stderr).toMatch(/watchdog: process \d+ does not react, killing it\n/)
  } finally {
    process.kill(-child.pid!, 'SIGKILL') // What it waited for.
  }
})

it('a runner whose own next statement is not answered ends in the same way', async () => {
  const database = await databases.make(JOB_TABLE, TRANSITION_TABLE, 'insert into job default values')
  const { code, stderr } = await new Running(spawn(NODE, [script, database.url, 'lock']), ['lock']).finished()
  expect(code, stderr).toBe(WATCHDOG_EXIT_CODE)
  expect(stderr).toMatch(/watchdog: the database has not answered for \d+ ms, ending process \d+ with exit code 70\n/)
})

it('a runner that was stopped for a while, with its watchdog, goes on', async () => {
  const database = await databases.make(JOB_TABLE, TRANSITION_TABLE, 'insert into job default values')
  const running = new Running(spawn(NODE, [script, database.url, 'patience']), ['patience'])
  await running.says(/blocking/)
  running.signal('SIGSTOP')
  const start = performance.now()
  await eventually(() => performance.now() - start > 4_000)
  running.signal('SIGCONT')
  await database.query(`update job set note = 'go on'`)
  const { code, stderr } = await running.finished()
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'blocking\nstill there\n' })
})

it('a runner whose handlers wait, but do not block, is left alone', async () => {
  const database = await databases.make(JOB_TABLE, TRANSITION_TABLE, 'insert into job default values')
  const { opened, open } = gate()
  const wait = async () => {
    await opened
    return 'finish' as const
  }
  const stop = new AbortController()
  const watchdog = { afterMs: 3_000 } // It would end this very process, when a busy machine lets that wait for so long.

  const models = [{ handlers: withHandlers(job, { queued: wait, started: wait }) }]
  const running = new Runner({ sql: database.sql, models, watchdog, deadlineMs: 60_000 }).run({ signal: stop.signal })
  const start = performance.now()
  await eventually(() => performance.now() - start > 1.5 * watchdog.afterMs)
  open()
  stop.abort()
  expect((await running).models['job']?.moved).toEqual({ 'queued -finish-> done': 1 })
})
