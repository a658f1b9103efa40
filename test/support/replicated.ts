import { once } from 'node:events'
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { serverAccount } from '../../src/db/embedded/account.ts'
import { findBinaries } from '../../src/db/embedded/binaries.ts'
import { runProgram } from '../../src/db/embedded/run.ts'

type Which = 'primary' | 'standby'

/** A PostgreSQL of somebody else, with a standby that streams from it. */
export interface Pair {
  urlOf(which: Which): string
  start(which: Which): Promise<void>
  /** At once, as a crash does. */
  stop(which: Which): Promise<void>
  /** The standby takes over. */
  promote(): Promise<void>
}

/** A pair for the tests of a file; both run at the beginning. */
export function usePair(): Pair {
  const account = serverAccount()
  const { initdb, pgCtl } = findBinaries(account)
  let folder: string
  const ports = {} as Record<Which, number>
  const running = new Set<Which>()
  const run = async (file: string, ...args: string[]) => {
    const { code, output } = await runProgram(file, args, account, 'ignore')
    expect(code, output).toBe(0)
  }
  const dataOf = (which: Which) => join(folder, which)
  const pair: Pair = {
    urlOf: (which) => `postgres://postgres@127.0.0.1:${ports[which]}/postgres`,
    async start(which) {
      const settings = ['listen_addresses=127.0.0.1', "unix_socket_directories=''", 'autovacuum=off', 'fsync=off']
      const options = [`-p ${ports[which]}`, ...settings.map((setting) => `-c ${setting}`)].join(' ')
      await run(pgCtl, 'start', '--wait', '-D', dataOf(which), '-l', join(folder, `${which}.log`), '-o', options)
      running.add(which)
    },
    async stop(which) {
      await run(pgCtl, 'stop', '--wait', '-m', 'immediate', '-D', dataOf(which))
      running.delete(which)
    },
    promote: () => run(pgCtl, 'promote', '--wait', '-D', dataOf('standby')),
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'abx-pair-'))
    chmodSync(folder, 0o755)
    if (account) chownSync(folder, account.uid, account.gid)
    for (const which of ['primary', 'standby'] as const) ports[which] = await freePort()
    await run(initdb, '-D', dataOf('primary'), '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C')
    await run('/bin/cp', '-a', dataOf('primary'), dataOf('standby'))
    const primary = `host=127.0.0.1 port=${ports.primary} user=postgres application_name=second`
    writeFileSync(join(dataOf('standby'), 'postgresql.auto.conf'), `primary_conninfo = '${primary}'\n`)
    writeFileSync(join(dataOf('standby'), 'standby.signal'), '')
    for (const which of ['primary', 'standby'] as const) await pair.start(which)
  })
  afterAll(async () => {
    for (const which of running) await pair.stop(which)
    rmSync(folder, { recursive: true, force: true })
  })
  return pair
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}
