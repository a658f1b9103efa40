import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { withGraphs } from '../../../scripts/draw-machines.ts'
import { finalStates, type Machine, workStates } from '../../../src/engine/machine.ts'
import { archiveResultMachine } from '../../../src/machines/archive-result.ts'
import { binaryMachine } from '../../../src/machines/binary.ts'
import { crawlMachine } from '../../../src/machines/crawl.ts'
import { scheduleMachine } from '../../../src/machines/schedule.ts'
import { snapshotMachine } from '../../../src/machines/snapshot.ts'
import { ROOT } from '../../support/program.ts'

const MACHINES: readonly Machine[] = [
  crawlMachine,
  snapshotMachine,
  archiveResultMachine,
  binaryMachine,
  scheduleMachine,
]
const MIGRATIONS = join(ROOT, 'src', 'db', 'migrations')
const schema = readdirSync(MIGRATIONS)
  .sort()
  .map((file) => readFileSync(join(MIGRATIONS, file), 'utf8').replace(/--.*$/gm, ''))
  .join('\n')

/** The definition of one table. */
function definition(table: string): string {
  const found = new RegExp(`create table "?${table}"? \\((.*?)\\n\\)`, 's').exec(schema)
  expect(found, `table ${table}`).not.toBeNull()
  return found![1]!
}

/** The columns of one table, each on a line: those of its definition, and those that came later. */
function columnsOf(table: string): string {
  const added = [...schema.matchAll(new RegExp(`alter table "?${table}"? add column ([^;]*);`, 'g'))].map(
    (match) => match[1]!,
  )
  return [definition(table), ...added].join('\n')
}

/** The values that a column's own CHECK allows. */
function allowed(table: string, column: string): string[] {
  const found = new RegExp(`^\\s*${column}\\s.*?check\\s*\\(${column} in\\s*\\(([^)]*)\\)`, 'ms').exec(
    definition(table),
  )
  expect(found, `check of ${table}.${column}`).not.toBeNull()
  return quoted(found![1]!)
}

const quoted = (text: string) => [...text.matchAll(/'([^']*)'/g)].map((match) => match[1]!)

describe('the schema', () => {
  it.each(MACHINES.map((machine) => [machine.name, machine] as const))(
    'allows %s exactly the states of its graph',
    (_name, machine) => {
      expect(allowed(machine.table, machine.columns.status).sort()).toEqual(Object.keys(machine.states).sort())
      const start = new RegExp(`^\\s*${machine.columns.status}\\s[^\\n]*default '(\\w+)'`, 'ms').exec(
        definition(machine.table),
      )
      expect(start?.[1]).toBe(machine.initial)
    },
  )

  it.each(MACHINES.map((machine) => [machine.name, machine] as const))(
    'has the columns that the graph of %s names',
    (_name, machine) => {
      const claimed = machine.heldBy === undefined
      const { id, status, retryAt, token, ...named } = machine.columns
      const columns = [id, status, ...(claimed ? [retryAt, token] : []), ...Object.values(named)]
      for (const column of columns) expect(columnsOf(machine.table)).toMatch(new RegExp(`^\\s*${column}\\s`, 'm'))
    },
  )

  it('counts a result as ended in exactly the final states', () => {
    const check = /check \(\(status in \(([^)]*)\)\) = \(end_ts is not null\)\)/.exec(definition('archive_result'))
    expect(quoted(check?.[1] ?? '').sort()).toEqual(finalStates(archiveResultMachine).sort())
  })

  it.each([crawlMachine, snapshotMachine, scheduleMachine].map((machine) => [machine.name, machine] as const))(
    'indexes as due exactly the states in which a %s is claimed',
    (name, machine) => {
      const index = new RegExp(`create index ${name}_due on ${name} [^;]*where status in \\(([^)]*)\\)`).exec(schema)
      expect(quoted(index?.[1] ?? '').sort()).toEqual(workStates<Machine>(machine).sort())
    },
  )

  it('has the statuses and types of processes that scripts rely on', () => {
    expect(allowed('process', 'status')).toEqual(['starting', 'running', 'draining', 'exited', 'lost'])
    expect(allowed('process', 'worker_type').sort()).toEqual([
      '',
      'binary',
      'crawl',
      'runner_waiting',
      'snapshot',
      'worker_runner',
    ])
    expect(allowed('process', 'process_type').sort()).toEqual(
      ['add', 'binary', 'cli', 'hook', 'orchestrator', 'search', 'server', 'supervisord', 'update', 'worker'].sort(),
    )
  })

  it('has one leader a data dir, by an index over the states in which it lives', () => {
    const gate =
      /create unique index single_active_runner_per_data_dir on process \(data_dir_id\)\s*where ([^;]*);/.exec(schema)
    expect(quoted(gate?.[1] ?? '')).toEqual(['worker_runner', 'running', 'draining'])
  })
})

describe('the graphs', () => {
  it('are in GRAPHS.md of src/machines as the code has them', () => {
    const drawn = readFileSync(join(ROOT, 'src', 'machines', 'GRAPHS.md'), 'utf8')
    expect(drawn, 'node scripts/draw-machines.ts draws them').toBe(withGraphs(drawn))
    for (const machine of MACHINES) {
      expect(drawn).toContain(`### ${machine.name}\n`)
      for (const [state, { on, reopen }] of Object.entries(machine.states)) {
        for (const [event, target] of Object.entries(on ?? {}))
          expect(drawn).toContain(`    ${state} --> ${target}: ${event}\n`)
        for (const [event, target] of Object.entries(reopen ?? {}))
          expect(drawn).toContain(`    ${state} --> ${target}: (${event})\n`)
      }
    }
  })

  it('have the statuses that scripts rely on', () => {
    for (const machine of [crawlMachine, snapshotMachine])
      expect(Object.keys(machine.states)).toEqual(['queued', 'started', 'paused', 'sealed'])
    expect(Object.keys(archiveResultMachine.states)).toEqual([
      'queued',
      'started',
      'backoff',
      'succeeded',
      'failed',
      'skipped',
      'noresults',
    ])
    expect(finalStates(archiveResultMachine)).toEqual(['succeeded', 'failed', 'skipped', 'noresults'])
    expect(finalStates(crawlMachine)).toEqual(['sealed'])
  })

  // A schedule has no end: it goes on until somebody removes it.
  it.each(MACHINES.filter((machine) => machine !== scheduleMachine).map((machine) => [machine.name, machine] as const))(
    'of %s lead from every state to an end',
    (_name, machine) => {
      for (const start of Object.keys(machine.states)) {
        const reached = new Set([start])
        for (const state of reached)
          for (const target of Object.values(machine.states[state]!.on ?? {})) reached.add(target)
        expect(
          [...reached].some((state) => machine.states[state]!.final),
          start,
        ).toBe(true)
      }
    },
  )

  it('never claim what is paused', () => {
    for (const machine of [crawlMachine, snapshotMachine])
      expect(workStates<Machine>(machine)).toEqual(['queued', 'started'])
  })
})

it('every test that src/NAMES.md names for the names of ArchiveBox is there', () => {
  const text = readFileSync(join(ROOT, 'src', 'NAMES.md'), 'utf8')
  const rows = [...text.matchAll(/;\s+test\s+([\w/-]+(?:,\s+[\w/-]+)*)$/gm)]
  const names = new Set(rows.flatMap(([, cell]) => cell!.split(/,\s+/)))
  const files = globSync('{unit,integration,crash}/*/*.test.ts', { cwd: join(ROOT, 'test') })
  const isThere = (name: string) => files.some((file) => file.endsWith(`/${name}.test.ts`))
  expect(names.size).toBeGreaterThan(20)
  expect([...names].filter((name) => !isThere(name))).toEqual([])
})
