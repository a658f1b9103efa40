// The outside observer, a separate process: checks rows and /proc every 250 ms, whatever happens to the processes that
// it watches. It relies only on the database and the kernel. Started by observer.ts; reports over its channel.
import { readFileSync } from 'node:fs'
import pg from 'pg'
import { allProcesses, type Placed, processesOf, type Seen, zombiesIn } from './processes.ts'
import { brokenPromises } from './promises.ts'

const LOOK_MS = 250
const MARK = 'ARCHIVEBOX_RUNNER_ID'
/**
 * How long the row of an exited process may stay open while there is a leader, which closes unattended rows every 30 s.
 */
const CLOSED_WITHIN_MS = 45_000
/** The program's own processes; hooks may treat their children as they like. */
const OURS = /\/(main|hook-host|guardian)\.js/
/** A runner that is not yet the leader has one process: this. */
const WAITS_FOR_LOCK = /^flock /
/** How long an ended process may wait for its parent, on a very busy machine. */
const REAPED_WITHIN_MS = 10_000
/** A leader writes a heartbeat every 5 s. */
const BEATEN_WITHIN_S = 15
/**
 * How long there may be no leader while there are runners: a gate that must kill the previous one takes 20 s, on a very
 * busy machine.
 */
const LED_WITHIN_MS = 60_000

export interface Watched {
  readonly databaseUrl: string
  readonly dataDir: string
}
export type Order =
  | { readonly watch: Watched }
  | { readonly forgive: string; readonly processId: string }
  | { readonly unwatch: string }

interface OpenRow extends Record<string, unknown> {
  readonly id: string
  readonly pid: number | null
  readonly start_ticks: string | null
  readonly worker_type: string
}

/** The state of the machine at one moment. */
interface Machine {
  readonly all: readonly Placed[]
  readonly zombies: ReturnType<typeof zombiesIn>
}

/** One data dir under watch. */
class Watch {
  readonly seen = new Set<string>()
  /** The processes whose rows were edited by hand: they cannot be right. */
  readonly forgiven = new Set<string>()
  looks = 0
  readonly #dataDir: string
  readonly #pool: pg.Pool
  readonly #goneSince = new Map<string, number>()
  #suspects = new Set<string>()
  readonly #zombieSince = new Map<number, number>()
  #leaderlessSince: number | undefined

  constructor({ databaseUrl, dataDir }: Watched) {
    this.#dataDir = dataDir
    this.#pool = new pg.Pool({
      connectionString: databaseUrl,
      max: 1,
      application_name: 'the observer',
      connectionTimeoutMillis: 10_000,
    })
    this.#pool.on('error', () => {})
  }

  async query<T extends Record<string, unknown>>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    return (await this.#pool.query<T>(sql, [...values])).rows
  }

  async look({ all, zombies }: Machine): Promise<void> {
    const living = processesOf(this.#dataDir, all)
    const suspects = new Set<string>()
    const working = living.filter(({ command }) => !WAITS_FOR_LOCK.test(command))
    const marks = new Set(working.flatMap(({ environ }) => valueIn(environ, MARK) ?? []))
    if (marks.size > 1) suspects.add(`processes of ${marks.size} runners live at once: ${[...marks].join(', ')}`)
    this.#zombiesOf(living, zombies)
    try {
      for (const name of await brokenPromises(this)) this.seen.add(name)
      await this.#lookAtRows(living, suspects)
      await this.#someoneLeads(living)
      this.looks += 1
    } catch {
      // An unreachable database breaks no promise: tests also end servers.
      this.#leaderlessSince = undefined
    }
    this.#confirm(suspects)
  }

  async close(): Promise<void> {
    await this.#pool.end().catch(() => {})
  }

  async #lookAtRows(living: readonly Seen[], suspects: Set<string>): Promise<void> {
    const runnerOf = ({ environ }: Seen) => valueIn(environ, MARK)
    const rows = await this.query<OpenRow>(
      "select id, pid, start_ticks, worker_type from process where status in ('running', 'draining')",
    )
    const closed = await this.query<{ id: string }>(
      "select id from process where process_type = 'orchestrator' and status in ('exited', 'lost') and id = any($1)",
      [[...new Set(living.flatMap((seen) => runnerOf(seen) ?? []))]],
    )
    for (const seen of living) {
      if (closed.some(({ id }) => id === runnerOf(seen) && !this.forgiven.has(id)))
        suspects.add(`process ${seen.pid} lives on though its runner's row is closed`)
    }
    this.#rowsOfTheGone(rows)
  }

  /** The program's processes reap their ended children, unless they are stopped themselves. */
  #zombiesOf(living: readonly Seen[], all: Machine['zombies']): void {
    const now = performance.now()
    const ours = living.filter(({ pid, command }) => OURS.test(command) && statOf(pid)?.[0] !== 'T')
    const parents = new Map(ours.map((seen) => [seen.pid, seen]))
    const zombies = all.filter(({ ppid }) => parents.has(ppid))
    for (const pid of this.#zombieSince.keys())
      if (!zombies.some((zombie) => zombie.pid === pid)) this.#zombieSince.delete(pid)
    for (const { pid, ppid } of zombies) {
      const since = this.#zombieSince.get(pid) ?? now
      this.#zombieSince.set(pid, since)
      if (now - since > REAPED_WITHIN_MS)
        this.seen.add(`${pid} is a zombie that nobody reaps: ${parents.get(ppid)?.command}`)
    }
  }

  /** If there has been a runner for a while, one leads; unless a stopped one is in the way. */
  async #someoneLeads(living: readonly Seen[]): Promise<void> {
    const runners = living.filter(({ command }) => /main\.js run( |$)/.test(command))
    const [led] = await this.query<{ led: boolean }>(
      `select count(*) > 0 as led from process
       where worker_type = 'worker_runner' and status in ('running', 'draining')
         and heartbeat_at > now() - interval '${BEATEN_WITHIN_S} s'`,
    )
    const waiting = runners.length > 0 && !runners.some(({ pid }) => statOf(pid)?.[0] === 'T')
    const now = performance.now()
    if (!waiting || led?.led) this.#leaderlessSince = undefined
    else this.#leaderlessSince ??= now
    if (this.#leaderlessSince !== undefined && now - this.#leaderlessSince > LED_WITHIN_MS)
      this.seen.add(
        `for ${LED_WITHIN_MS / 1000} s runners are there, and nobody leads: ` +
          `${runners.map(({ pid }) => pid).join(', ')}`,
      )
  }

  /**
   * The kernel and the database cannot be queried at the same moment: only findings that are seen twice in a row count.
   */
  #confirm(suspects: Set<string>): void {
    for (const suspect of suspects) if (this.#suspects.has(suspect)) this.seen.add(suspect)
    this.#suspects = suspects
  }

  /** Rows of exited processes are closed soon, if there is a leader and no process that would close them is stopped. */
  #rowsOfTheGone(rows: readonly OpenRow[]): void {
    const now = performance.now()
    const led =
      rows.some((row) => row.worker_type === 'worker_runner' && isThere(row)) &&
      !rows.some((row) => stateOf(row) === 'T')
    for (const id of this.#goneSince.keys())
      if (!led || !rows.some((row) => row.id === id && !isThere(row))) this.#goneSince.delete(id)
    for (const row of rows) {
      if (!led || isThere(row) || this.forgiven.has(row.id)) continue
      const since = this.#goneSince.get(row.id) ?? now
      this.#goneSince.set(row.id, since)
      if (now - since > CLOSED_WITHIN_MS)
        this.seen.add(`the row of pid ${row.pid} (${row.worker_type || 'hook'}) stays open though it is gone`)
    }
  }
}

function valueIn(environ: readonly string[], name: string): string | undefined {
  return environ.find((line) => line.startsWith(`${name}=`))?.slice(name.length + 1)
}

function stateOf({ pid, start_ticks }: OpenRow): string | undefined {
  const fields = statOf(pid)
  return fields?.[19] === start_ticks ? fields?.[0] : undefined
}

/** The fields of a process in /proc, from its state on. */
function statOf(pid: number | null): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}
const isThere = (row: OpenRow) => !['Z', 'X', undefined].includes(stateOf(row))

const watches = new Map<string, Watch>()
process.on('message', async (order: Order) => {
  if ('watch' in order) watches.set(order.watch.dataDir, new Watch(order.watch))
  else if ('forgive' in order) watches.get(order.forgive)?.forgiven.add(order.processId)
  else {
    const watch = watches.get(order.unwatch)
    watches.delete(order.unwatch)
    await watch?.close()
    process.send?.({ dataDir: order.unwatch, seen: [...(watch?.seen ?? [])], looks: watch?.looks ?? 0 })
  }
})
process.on('disconnect', () => process.exit(0))
process.send?.('up')

for (;;) {
  // Once for all homes: reading /proc is most of the work.
  const machine = { all: allProcesses(), zombies: zombiesIn() }
  await Promise.all([...watches.values()].map((watch) => watch.look(machine)))
  await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
}
