import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { uuidv7 } from '../../../src/base/ids.ts'
import { openDatabase } from '../../../src/db/database.ts'
import type { SnapshotRow } from '../../../src/db/snapshots.ts'
import { ClaimLost } from '../../../src/engine/queue.ts'
import { OwnedQueue, type Owner, requeueClaimsOf } from '../../../src/machines/queues.ts'
import { snapshotsWithin } from '../../../src/machines/scope.ts'
import { snapshotMachine } from '../../../src/machines/snapshot.ts'
import { failpoints, fired } from '../../support/failpoints.ts'
import { useHomes } from '../../support/homes.ts'
import { openRows } from '../../support/observer.ts'
import { eventually } from '../../support/program.ts'

const homes = useHomes()
const queueOf = (owner: Owner) =>
  new OwnedQueue<typeof snapshotMachine, SnapshotRow>(owner, snapshotMachine, snapshotsWithin({}))

describe('the term', () => {
  it('raised by somebody else ends the leadership of an idle leader, which passes the gate again and leads under a term of its own', async () => {
    const home = await homes.make()
    const runner = home.start(['run'])
    await runner.says(/leading \(term 1\)/)
    await home.query('update runner_term set term = term + 1')
    await runner.says(/cannot know that it leads \(its row is closed, or another term began\)/)
    await runner.says(/leading \(term 3\)/)
    runner.signal('SIGTERM')
    const { code, stderr } = await runner.finished()
    expect(code, stderr).toBe(0)
    expect(stderr).not.toMatch(/^\s+at /m)
    expect(await openRows(home)).toEqual([])
  })

  it('fences claims: under an older term they match no row, and a lost claim writes nothing', async () => {
    const home = await homes.make()
    const runner = home.start(['run'])
    await runner.says(/leading/)
    runner.signal('SIGTERM')
    await runner.finished()
    await home.add('http://127.0.0.1:1/')
    const crawl = await home.value<string>('select id from crawl')
    await home.query(
      `insert into snapshot (id, crawl_id, url, url_hash, output_dir)
        select gen_random_uuid(), $1, n::text, sha256(n::text::bytea), 'archive/x' from generate_series(1, 3) n`,
      [crawl],
    )
    const dataDirId = await home.value<string>('select data_dir_id from runner_term')
    const db = openDatabase(home.databaseUrl, { name: 'the test' })
    try {
      const owner = {
        home: { db, databaseUrl: home.databaseUrl, embedded: true, machineId: '', dataDir: home.dataDir, dataDirId },
        processId: uuidv7(),
        term: 1,
      }
      const queue = queueOf(owner)
      const first = (await queue.next())!
      const second = (await queue.next())!
      expect(first).toMatchObject({ state: 'queued', attempts: 1, expiredOwner: null })
      expect(await queue.next()).toBeDefined()
      expect(await queue.next()).toBeUndefined()
      expect(await queue.release(second)).toBe(true)

      await home.query('update runner_term set term = 2')
      expect(await queue.next()).toBeUndefined()
      const heir = queueOf({ ...owner, processId: uuidv7(), term: 2 })
      expect(await requeueClaimsOf(db, [owner.processId])).toBe(2)
      const taken = [await heir.next(), await heir.next(), await heir.next()]
      const again = taken.find((claim) => claim?.id === first.id)!
      expect(again.attempts).toBe(2)

      expect(await queue.renew([first])).toEqual(new Set())
      await expect(queue.move(first as typeof first & { state: 'queued' }, 'start')).rejects.toThrow(ClaimLost)
      expect(await queue.release(first)).toBe(false)
      expect(await queue.release(first, 1, true)).toBe(false)
      expect(await home.value('select claim_token from snapshot where id = $1', [first.id])).toBe(again.token)
      expect(await home.value("select count(*) from transition where model = 'snapshot'")).toBe('0')
    } finally {
      await db.destroy()
    }
  })

  it('is never raised twice at once: a second active runner is refused by the schema', async () => {
    const home = await homes.make()
    const runner = home.start(['run'])
    await runner.says(/leading/)
    const copy = `insert into process (id, machine_id, data_dir, data_dir_id, process_type, worker_type, status, pid,
      start_ticks, boot_id, pid_namespace, started_at, term)
      select gen_random_uuid(), machine_id, data_dir, data_dir_id, process_type, worker_type, status, pid + 1,
        start_ticks, boot_id, pid_namespace, now(), 2
      from process where worker_type = 'worker_runner'`
    await expect(home.query(copy)).rejects.toThrow(/single_active_runner_per_data_dir/)
    runner.signal('SIGTERM')
    await eventually(() => runner.isOver)
    expect((await runner.finished()).code).toBe(0)
  })

  it('fences announcements and publications: a worker that slept through a takeover starts nothing and changes no file', async () => {
    const home = await homes.make()
    home.install('js_hook')
    const first = home.start(['run'], { env: failpoints(home, 'publish.files_aside=stop') })
    await first.says(/leading \(term 1\)/)
    await home.add('--plugins', 'js_hook', 'http://127.0.0.1:9/')
    const sleeper = await eventually(() => fired(home).get('publish.files_aside'))
    const dir = join(home.dataDir, await home.value<string>('select output_dir from snapshot'))
    expect(existsSync(join(dir, '.publish-js_hook', 'made.txt')), 'it was about to').toBe(true)
    // As if it could not be reached by a kill: somebody else raises the term, and its page is claimed anew.
    await home.query('update runner_term set term = 2, process_id = gen_random_uuid()')
    await home.query('update snapshot set claim_token = gen_random_uuid()')
    process.kill(sleeper, 'SIGCONT')
    await eventually(() =>
      home.value<boolean>("select count(*) = 0 from process where worker_type = 'snapshot' and ended_at is null"),
    )
    expect(existsSync(join(dir, 'js_hook'))).toBe(false)
    const announce = `insert into process (id, machine_id, data_dir, data_dir_id, process_type, runner_id)
      select gen_random_uuid(), machine_id, data_dir, data_dir_id, 'hook', id from process
        where worker_type = 'worker_runner'`
    await home.query('update runner_term set process_id = gen_random_uuid()')
    await expect(home.query(announce)).rejects.toThrow(/leads no more/)
    first.signal('SIGTERM')
    expect((await first.finished()).code, first.stderr).toBe(0)
  })

  it('start no hook of a page that was taken away between its announcement and its start', async () => {
    const home = await homes.make()
    home.install('oracle')
    const runner = home.start(['run'], { env: failpoints(home, 'spawn.hook_row=stop') })
    await runner.says(/leading/)
    await home.add('--plugins', 'oracle', 'http://127.0.0.1:9/')
    const sleeper = await eventually(() => fired(home).get('spawn.hook_row'))
    const paused = await home.run(['snapshot', 'pause', await home.value<string>('select id::text from snapshot')])
    expect(paused.code, paused.stderr).toBe(0)
    process.kill(sleeper, 'SIGCONT')
    await eventually(() =>
      home.value<boolean>("select count(*) = 0 from process where process_type = 'hook' and ended_at is null"),
    )
    expect(existsSync(join(home.dataDir, 'oracle.log'))).toBe(false)
    runner.signal('SIGTERM')
    expect((await runner.finished()).code, runner.stderr).toBe(0)
  })
})
