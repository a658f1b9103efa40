import { once } from 'node:events'
import { sql } from 'kysely'
import { FRUGAL_FLAGS } from '../../src/base/start/frugal.ts'
import type { Home } from '../../src/db/home.ts'
import { insertStarting } from '../../src/db/processes.ts'
import type { FromActor, ToActor } from '../../src/engine/actor-messages.ts'
import type { Containment } from '../../src/processes/containment/containment.ts'
import { MARKER } from '../../src/processes/marks.ts'
import { homeEnvironment } from '../../src/workers/supervise/home-environment.ts'
import type { FromWorker, ToWorker } from '../../src/workers/supervise/lane-messages.ts'
import { WORKER_ENV } from '../../src/workers/supervise/worker-env.ts'
import type { Figure } from './figures.ts'
import { withHome } from './home.ts'
import { archivebox, cleanEnv, MAIN, nodeStartMs, runNode, startNode } from './program.ts'

const TERM = 1

/** Starts: what every command and every worker pays before it does anything. The rival is a Node that does nothing. */
export async function start(rounds: number): Promise<Figure[]> {
  return await withHome(async (home) => {
    const runner = await insertStarting(home, {
      processType: 'orchestrator',
      parentId: null,
      runnerId: null,
      pwd: home.dataDir,
      cmd: ['bench'],
    })
    await sql`insert into runner_term (data_dir_id, term, process_id)
      values (${home.dataDirId}, ${TERM}, ${runner.id})`.execute(home.db)
    const measures = {
      version: async () => (await runNode([MAIN, '--version'])).ms,
      add: async () => (await archivebox(home.dataDir, 'add', 'http://127.0.0.1:9/')).ms,
      worker: () => workerReadyMs(home, runner.id),
      words: async () => await wordsMs(home, 'add', '--plugins', 't'),
      ids: async () => await wordsMs(home, 'crawl', 'show', ''),
      doctor: async () => (await archivebox(home.dataDir, 'doctor')).ms,
    }
    const names = Object.keys(measures) as (keyof typeof measures)[]
    const values = Object.fromEntries(['node', ...names].map((name) => [name, [] as number[]])) as Record<
      keyof typeof measures | 'node',
      number[]
    >
    for (let round = -1; round < rounds; round += 1) {
      const node = await nodeStartMs()
      if (round >= 0) values.node.push(node)
      for (const name of names) {
        const ms = await measures[name]()
        // The first round fills the caches of the file system and of compiled code.
        if (round >= 0) values[name].push(ms)
      }
    }
    const figure = (
      what: string,
      name: keyof typeof measures,
      atMost: number,
      of: 'ratio' | 'value' = 'ratio',
    ): Figure => ({
      bench: 'start',
      what,
      unit: 'ms',
      values: values[name],
      rival: { name: 'node -e 0', values: values.node },
      target: { atMost, of },
    })
    return [
      figure('archivebox-ts --version', 'version', 1.5),
      figure('add URL, server running', 'add', 4),
      figure('worker ready (spawn to first idle)', 'worker', 2),
      figure('completion of plugins', 'words', 2),
      figure('completion of ids, server running', 'ids', 2),
      figure('doctor', 'doctor', 1_500, 'value'),
    ]
  })
}

/** What a press of Tab takes behind these words. */
async function wordsMs({ dataDir }: Home, ...words: readonly string[]): Promise<number> {
  return (await runNode([MAIN, 'completion', 'words', 'archivebox-ts', '--data-dir', dataDir, ...words])).ms
}

/**
 * A SnapshotWorker as its supervisor starts it, until it has asked for work and found none: connected, warm host on its
 * way.
 */
async function workerReadyMs(home: Home, runnerId: string): Promise<number> {
  const argv = [...FRUGAL_FLAGS, MAIN, 'worker', 'snapshot']
  const row = await insertStarting(home, {
    processType: 'worker',
    workerType: 'snapshot',
    parentId: runnerId,
    runnerId,
    pwd: home.dataDir,
    cmd: argv,
    term: TERM,
  })
  const env = {
    ...cleanEnv,
    ...homeEnvironment(home),
    [MARKER.process]: row.id,
    [MARKER.runner]: runnerId,
    [WORKER_ENV.parentId]: runnerId,
    [WORKER_ENV.term]: String(TERM),
    [WORKER_ENV.scope]: '{}',
    [WORKER_ENV.containment]: JSON.stringify({ tier: 'basic', deathSignal: false } satisfies Containment),
  }
  const begun = performance.now()
  const child = startNode(argv, { cwd: home.dataDir, env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const tell = (note: ToWorker) => child.send({ type: 'note', note } satisfies ToActor)
  tell({ lane: 1, open: { databaseUrl: home.databaseUrl, settings: {}, holds: false } })
  const exited = once(child, 'exit')
  const ready = Promise.withResolvers<number>()
  child.on('message', (message: FromActor) => {
    const note = message.type === 'note' ? (message.note as FromWorker) : undefined
    if (note && 'message' in note && note.message.type === 'idle') ready.resolve(performance.now() - begun)
  })
  exited.then(
    ([code]) => ready.reject(new Error(`the worker ended with ${code}`)),
    (error: unknown) => ready.reject(error),
  )
  const ms = await ready.promise
  tell({ lane: 1, order: { type: 'drain', capMs: null, isExplained: true } })
  await exited
  return ms
}
