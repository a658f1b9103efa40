import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { sql } from 'kysely'
import type { Home } from '../../src/db/home.ts'
import { MAIN, startNode } from './program.ts'

/** A runner, and the moments that count: when it was spawned, when its work loop began, when it was gone. */
export interface Runner {
  readonly child: ChildProcess
  readonly spawnedAt: number
  readonly leading: Promise<number>
  readonly gone: Promise<{ at: number; code: number | null }>
}

export function startRunner(home: Home, ...args: string[]): Runner {
  const spawnedAt = performance.now()
  const child = startNode([MAIN, '--data-dir', home.dataDir, 'run', '--daemon', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const leading = Promise.withResolvers<number>()
  createInterface({ input: child.stderr! }).on('line', (line) => {
    if (/leading \(term/.test(line)) leading.resolve(performance.now())
  })
  const gone = once(child, 'exit').then(([code]: (number | null)[]) => ({ at: performance.now(), code: code ?? null }))
  return { child, spawnedAt, leading: leading.promise, gone }
}

export async function stop(runner: Runner, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  runner.child.kill(signal)
  await runner.gone
}

export async function standsBy(home: Home, pid: number): Promise<boolean> {
  const { rows } = await sql`select 1 from process where pid = ${pid} and standby and status = 'running'`.execute(
    home.db,
  )
  return rows.length > 0
}
