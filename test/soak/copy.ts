import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { newFolder, TestHome } from '../support/homes.ts'
import { killAll, processesOf } from '../support/processes.ts'
import { eventually } from '../support/program.ts'
import type { Ledger } from './ledger.ts'

/**
 * Copies a data dir as it is, its database in full flight, and has the copy led for a moment: whatever becomes of it,
 * the original is another one.
 */
export async function leadCopy(dataDir: string, env: Readonly<Record<string, string>>, ledger: Ledger): Promise<void> {
  const copy = newFolder()
  const home = new TestHome(copy, '', env)
  try {
    const parts = readdirSync(dataDir).filter((name) => name !== 'archive' && !name.startsWith('oracle'))
    await once(spawn('cp', ['-a', ...parts.map((name) => join(dataDir, name)), copy], { stdio: 'ignore' }), 'exit')
    const args = ['run', '--run-for', '4']
    ledger.judge(args, await home.run(args, { deadlineMs: 120_000 }))
  } finally {
    await home.run(['db', 'stop', '--force']).catch(() => {})
    await eventually(() => {
      const left = processesOf(copy)
      killAll(left)
      return left.length === 0
    }).catch(() => {})
    rmSync(copy, { recursive: true, force: true })
  }
}
