import { type ChildProcess, spawn } from 'node:child_process'
import { sql } from 'kysely'
import { openDatabase } from '../../src/db/database.ts'
import type { Home } from '../../src/db/home.ts'
import { type NewProcess, runningRow } from '../../src/db/new-process.ts'
import { rowById } from '../../src/db/process-rows.ts'
import { insertRunning, insertStarting, type LiveRow, markEnded, markRunning } from '../../src/db/processes.ts'
import { identityOf, ownIdentity } from '../../src/processes/identity.ts'
import { MARKER } from '../../src/processes/marks.ts'
import type { TestHome } from './homes.ts'

/** Starts and registers processes in a home as the program itself would, with this test as their supervisor. */
export class Registry {
  readonly home: Home
  /** The row of this test's own process. */
  readonly ownId: string
  readonly #children: ChildProcess[] = []

  private constructor(home: Home, ownId: string) {
    this.home = home
    this.ownId = ownId
  }

  static async open(home: TestHome): Promise<Registry> {
    const [ids] = await home.query<{ machine_id: string; data_dir_id: string }>(
      'select machine_id, data_dir_id from process limit 1',
    )
    const { databaseUrl, dataDir } = home
    const db = openDatabase(databaseUrl, { name: 'the test' })
    const inside = { db, databaseUrl, embedded: true, dataDir, machineId: ids!.machine_id, dataDirId: ids!.data_dir_id }
    const own = { processType: 'cli' as const, parentId: null, runnerId: null, pwd: dataDir, cmd: ['the test'] }
    return new Registry(inside, (await insertRunning(inside, runningRow(inside, own, await ownIdentity()))).id)
  }

  /** Makes a row before its process exists. */
  async announce(values: Partial<NewProcess> = {}): Promise<string> {
    const whole = {
      processType: 'cli' as const,
      parentId: null,
      runnerId: null,
      pwd: this.home.dataDir,
      cmd: ['test'],
      ...values,
    }
    // A process may be announced only for a runner that leads.
    if (whole.runnerId)
      await sql`insert into runner_term (data_dir_id, term, process_id)
        values (${this.home.dataDirId}, 1, ${whole.runnerId})
        on conflict (data_dir_id) do update set process_id = excluded.process_id`.execute(this.home.db)
    return (await insertStarting(this.home, whole)).id
  }

  /**
   * Starts a shell that runs `script`, with its row. We are its supervisor and write its end into the row, unless
   * `supervised` is false.
   */
  async start(
    script: string,
    values: Partial<NewProcess> = {},
    supervised = true,
  ): Promise<{ row: LiveRow; pid: number }> {
    const id = await this.announce({ ...(supervised ? { parentId: this.ownId } : {}), ...values })
    const env = {
      PATH: process.env['PATH'],
      DATA_DIR: this.home.dataDir,
      [MARKER.process]: id,
      [MARKER.runner]: values.runnerId ?? undefined,
      [MARKER.worker]: values.processType === 'hook' ? (values.parentId ?? undefined) : undefined,
    }
    // Even a short script starts only when its row exists. (Without --norc, a bash whose stdin is a socket reads
    // ~/.bashrc, and its children would seem to be the script's.)
    const held = ['--norc', '-c', 'read -r _; exec bash -c "$1" </dev/null', 'held', script]
    const child = spawn('/bin/bash', held, { env, detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
    this.#children.push(child)
    const identity = await identityOf(child.pid!)
    await markRunning(this.home.db, id, identity!)
    if (supervised)
      child.once('exit', (code, signal) => void markEnded(this.home.db, id, { code, signal }).catch(() => {}))
    child.stdin?.on('error', () => {}).end('\n') // A test may have killed it.
    return { row: (await rowById(this.home, id))!, pid: child.pid! }
  }

  /** The present row. */
  async again(row: { readonly id: string }): Promise<LiveRow> {
    return (await rowById(this.home, row.id))!
  }

  async close(): Promise<void> {
    for (const child of this.#children) child.kill('SIGKILL')
    await markEnded(this.home.db, this.ownId, { code: 0, signal: null })
    await this.home.db.destroy()
  }
}
