// Writes the SQL of the state engine into files that a reader can paste into psql: for a graph that uses every feature,
// and for the archive's own queues, whose fence and conditions are filled in.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Home } from '../src/db/home.ts'
import {
  claimRowStatement,
  claimStatement,
  dueStatement,
  pickStatement,
  settleAndClaimStatement,
} from '../src/engine/claim-statements.ts'
import { countsStatement, unknownStatement } from '../src/engine/count-statements.ts'
import {
  forgetStatement,
  holdersStatement,
  releaseStatement,
  renewStatement,
  requeueStatement,
  unclaimStatement,
  updateStatement,
} from '../src/engine/lease-statements.ts'
import { defineMachine, type Machine } from '../src/engine/machine.ts'
import type { Queue } from '../src/engine/queue.ts'
import type { Statement } from '../src/engine/sql.ts'
import {
  deleteStatements,
  externalStatement,
  keepStatement,
  movedStatement,
  settleAlikeStatement,
  settleStatement,
  timeoutStatement,
  vanishAlikeStatement,
} from '../src/engine/transition-statements.ts'
import { binaryMachine } from '../src/machines/binary.ts'
import { crawlMachine } from '../src/machines/crawl.ts'
import { binaryQueue, crawlQueue, type Owner, snapshotQueue } from '../src/machines/queues.ts'
import { snapshotMachine } from '../src/machines/snapshot.ts'

/** A statement and its purpose; undefined if the graph has no use for it. */
type Entry = readonly [what: string, statement: Statement | null | undefined]

const job = defineMachine({
  name: 'job',
  table: 'job',
  idType: 'bigint',
  columns: {
    owner: 'owner',
    attempts: 'attempts',
    changedAt: 'changed_at',
    movedBy: 'moved_by',
    modifiedAt: 'modified_at',
  },
  history: true,
  initial: 'queued',
  states: {
    queued: { on: { start: 'started', pause: 'paused' }, giveUp: { after: 5, to: 'failed' } },
    started: { on: { finish: 'done', drop: 'dropped' }, timeout: { afterMs: 3_600_000, to: 'failed' } },
    paused: { on: { resume: 'queued' }, external: true },
    done: { final: true, deleteAfterMs: 86_400_000 },
    dropped: { final: true, deleteAfterMs: 0 },
    failed: { final: true },
  },
})

const JOB = `create temporary table job (
  id          bigint generated always as identity primary key,
  kind        text not null,
  status      text not null default 'queued',
  retry_at    timestamptz default now(),
  claim_token uuid,
  owner       text,
  attempts    int not null default 0,
  changed_at  timestamptz not null default now(),
  moved_by    uuid,
  modified_at timestamptz not null default now()
);
create temporary table transition (
  model text, row_id text, from_status text, to_status text, event text, process_id uuid
);`

const LEASE = '$1 lease in seconds'
const CURSOR = '$2, $3 cursor: schedule, id'

/** The statements about the rows of a graph after a claim, or without one. */
function afterwards(machine: Machine, columns: readonly string[] = []): Entry[] {
  const states = Object.entries(machine.states)
  const events = new Set(states.flatMap(([, { on }]) => Object.keys(on ?? {})))
  return [
    ['renews claims; $1 ids, $2 tokens, $3 lease in seconds', renewStatement(machine)],
    ['gives a claim back; $1 id, $2 token, $3 delay in seconds, $4 does the attempt count?', releaseStatement(machine)],
    ['undoes a claim whose answer was lost; $1 token, $2 owner', unclaimStatement(machine)],
    ['shows which owners hold a row, and who is late; $1 owners, $2 seconds', holdersStatement(machine)],
    ['forgets the attempts before this one; $1 id, $2 token', forgetStatement(machine)],
    ['shows which rows came to a state under a token; $1 ids, $2 tokens, $3 states', movedStatement(machine)],
    ['makes due again what dead owners claimed; $1 owners, $2 does the attempt count?', requeueStatement(machine)],
    [
      'moves a row into another state, where its claim goes on; $1 id, $2 token, $3 from, $4 to, $5 event, $6 who',
      keepStatement(machine, []),
    ],
    [
      'ends claims with the same step; $1 ids, $2 token, $3 from, $4 to, $5 event, $6 seconds until due, ' +
        '$7 who, $8 attempts, $9... columns',
      settleAlikeStatement(machine, columns),
    ],
    ...[...events].map(
      (event): Entry => [
        `"${event}" from outside; $1 ids, $2 who, $3 when they are due`,
        externalStatement(machine, event, true),
      ],
    ),
  ]
}

/** The statements of the engine, for a graph that needs each of them. */
export function engineStatements(): string {
  const options = {
    where: (first: number) => `work.kind = $${first}`,
    whereValues: 1,
    fence: (first: number) => `select 1 from job where id = $${first}`,
  }
  const values = '$4 token, $5 owner, $6 value of `where`, $7 value of `fence`'
  const entries: Entry[] = [
    [`claims rows; ${LEASE}, ${CURSOR}, ${values}`, claimStatement(job, options, 10)],
    [`claims one row; ${LEASE}, ${CURSOR}, ${values}`, claimStatement(job, options, 1)],
    [
      `claims this very row; ${LEASE}, $2 id, $3 token, $4 owner, $5 and $6 values of \`where\` and \`fence\``,
      claimRowStatement(job, options),
    ],
    [`claims one of the first twenty rows, at random; ${LEASE}, ${CURSOR}, ${values}`, pickStatement(job, options, 20)],
    [
      'ends a claim and claims the next row; $1 id, as an array, $2 token, $3 from, $4 to, $5 event, ' +
        '$6 seconds until due, $7 who, $8 attempts, $9 lease in seconds, $10, $11 cursor, $12 token, $13 owner, ' +
        '$14 value of `where`, $15 value of `fence`',
      settleAndClaimStatement(job, options, []),
    ],
    ['shows what is due; $1 limit, $2 value of `where`', dueStatement(job, options)],
    ['writes another column of a claimed row; $1 id, $2 token, $3 state, $4 value', updateStatement(job, ['kind'])],
    ...afterwards(job),
    [
      'ends claims, each with its own step; $1 ids, $2 tokens, $3 from, $4 to, $5 events, ' +
        '$6 seconds until due, $7 who, $8 attempts',
      settleStatement(job),
    ],
    ['ends claims by deleting the rows; $1 ids, $2 token, $3 from, $4 to, $5 event, $6 who', vanishAlikeStatement(job)],
    ['moves rows along a timeout; $1 limit, $2 who', timeoutStatement(job, 'started')],
    ...deleteStatements(job).map((statement): Entry => ['deletes old rows; $1 limit', statement]),
    ['counts rows by state', countsStatement(job, Object.keys(job.states))],
    ['counts rows in states that the graph does not know', unknownStatement(job)],
  ]
  const about = [
    '-- What the state engine sends, for a graph that has everything a graph can have.',
    '-- Written by scripts/write-statements.ts. To try one: paste the file into psql, then execute "job: ' +
      'claim 1"(...).',
  ]
  return [about.join('\n'), JOB, ...entries.flatMap((entry) => text(job, entry))].join('\n\n').concat('\n')
}

/** The statements of each of the archive's own queues, each in a form for psql. */
export async function queueStatements(): Promise<Record<'crawl' | 'snapshot' | 'binary', readonly string[]>> {
  const owner: Owner = { home: { dataDirId: '', machineId: '' } as Home, processId: '', term: 1 }
  const claim = `claims the row that has been due the longest; ${LEASE}, ${CURSOR}, $4 token, $5 owner`
  const fence = (first: number) => `$${first} data dir and $${first + 1} term of the fence`
  const crawl: Entry = [`${claim}, ${fence(6)}`, await claimOf(crawlQueue(owner, {}))]
  const snapshot: Entry = [`${claim}, $6 crawl worker, ${fence(7)}`, await claimOf(snapshotQueue(owner, '', {}))]
  const binary: Entry = [`${claim}, $6 machine, ${fence(7)}`, await claimOf(binaryQueue(owner))]
  const texts = (machine: Machine, entries: readonly Entry[]) => entries.flatMap((entry) => text(machine, entry))
  return {
    crawl: texts(crawlMachine, [crawl, ...afterwards(crawlMachine)]),
    snapshot: texts(snapshotMachine, [snapshot, ...afterwards(snapshotMachine, ['outcome', 'cause', 'http_status'])]),
    binary: texts(binaryMachine, [binary, ...afterwards(binaryMachine)]),
  }
}

/** The statements of the archive's own queues: all of one, and of the others those that differ by more than a name. */
export async function archiveStatements(): Promise<string> {
  const { crawl, snapshot, binary } = await queueStatements()
  const own = [snapshot[0]!, snapshot.find((block) => block.includes('"snapshot: settle alike"'))!, binary[0]!]
  const about = [
    "-- What the archive's own queues send, with their fence and conditions filled in.",
    '-- Written by scripts/write-statements.ts. To try one: paste the file into psql, then execute "crawl: ' +
      'claim 1"(...).',
    '-- What is missing for snapshots and binaries is as for crawls.',
  ]
  return [about.join('\n'), ...crawl, ...own].join('\n\n').concat('\n')
}

/** The statement by which a queue claims one row. */
async function claimOf<M extends Machine, Row>(queue: Queue<M, Row>): Promise<Statement> {
  let claim: Statement | undefined
  const query = async <R>(statement: Statement): Promise<R[]> => {
    claim = statement
    return []
  }
  await queue.on({ query }).claim()
  return claim!
}

/** A statement in a form for psql, after a line with its purpose. */
function text(machine: Machine, [what, statement]: Entry): string[] {
  if (!statement) return []
  const verb = statement.name.slice(statement.name.indexOf(`:${machine.name}:`) + machine.name.length + 2)
  const [first, ...lines] = statement.text.split('\n')
  const margin = Math.min(...lines.map((line) => /^ */.exec(line)![0].length))
  const body = [first!, ...lines.map((line) => line.slice(margin))]
  const whole = [`-- ${what}`, `prepare "${machine.name}: ${verb}" as`, ...body]
  return [`${whole.map((line) => wrapped(line.trimEnd())).join('\n')};`]
}

const WIDTH = 120

/** Wraps a line that is too long. */
function wrapped(line: string, margin = line.startsWith('-- ') ? '--   ' : `${/^ */.exec(line)![0]}  `): string {
  if (line.length <= WIDTH) return line
  const cuts = line.slice(0, WIDTH).matchAll(/,(?= )|(?<=\S)(?= (?:and|from|where|set|order by|limit|when|else|end) )/g)
  const cut = [...cuts].at(-1)!
  const end = cut.index + cut[0].length
  return `${line.slice(0, end)}\n${wrapped(`${margin}${line.slice(end).trim()}`, margin)}`
}

const below = (...path: string[]) => join(import.meta.dirname, '..', 'src', ...path)
export const ENGINE_FILE = below('engine', 'statements.sql')
export const ARCHIVE_FILE = below('machines', 'statements.sql')

if (import.meta.main) {
  writeFileSync(ENGINE_FILE, engineStatements())
  writeFileSync(ARCHIVE_FILE, await archiveStatements())
}
