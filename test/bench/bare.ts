import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Home } from '../../src/db/home.ts'
import { endedChildrenMs, postgresMs } from './cpu.ts'

/** How long a bare script takes for `urls` with `parallel` processes, and its CPU with that of the database, in ms. */
export async function bare(
  home: Home,
  urls: readonly string[],
  parallel: number,
): Promise<{ wallMs: number; cpuMs: number }> {
  const dir = join(home.dataDir, 'bare')
  mkdirSync(dir)
  const before = endedChildrenMs() + postgresMs(home.dataDir)
  const begun = performance.now()
  const ends = Array.from({ length: parallel }, async (_, part) => {
    const child = fork(join(import.meta.dirname, 'bare-process.ts'), [home.databaseUrl, dir])
    child.send(urls.filter((_url, index) => index % parallel === part))
    const [code] = await once(child, 'exit')
    if (code !== 0) throw new Error(`the bare script ended with ${code}`)
  })
  await Promise.all(ends)
  return { wallMs: performance.now() - begun, cpuMs: endedChildrenMs() + postgresMs(home.dataDir) - before }
}
