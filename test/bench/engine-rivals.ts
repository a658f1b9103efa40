import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Mode, PeerName } from './engine-peers.ts'
import type { Measure } from './engine-process.ts'

/** The rivals' packages, in a folder of their own outside of the checkout; installed once. */
export function installRivals(): string {
  const folder = join(tmpdir(), 'archivebox-ts-bench-rivals')
  if (!existsSync(join(folder, 'node_modules', 'puppeteer-core'))) {
    console.error(`Installing graphile-worker, pg-boss and puppeteer-core into ${folder}`)
    mkdirSync(folder, { recursive: true })
    const dependencies = { 'graphile-worker': '0.18.0', 'pg-boss': '12.38.0', 'puppeteer-core': '25.16.0' }
    // pg-boss asks for a patch release of this one that not every registry has.
    writeFileSync(
      join(folder, 'package.json'),
      JSON.stringify({ private: true, dependencies, overrides: { 'rrule-temporal': '2.2.7' } }),
    )
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: folder,
      stdio: ['ignore', 2, 2],
    })
  }
  return folder
}

/** What one peer does in a process of its own. */
export function measure(
  name: PeerName,
  mode: Mode,
  url: string,
  rivals: string,
  what: Measure,
  number: number,
): Measured {
  const args = [join(import.meta.dirname, 'engine-process.ts'), name, mode, url, rivals, what, String(number)]
  return answerOf(args) as Measured
}

/** The memory of a runner of ours that has been waiting for work for some seconds. */
export function idleMegabytes(url: string, seconds: number): number {
  return (answerOf([join(import.meta.dirname, 'engine-idle.mjs'), url, String(seconds)]) as { megabytes: number })
    .megabytes
}

function answerOf(args: readonly string[]): unknown {
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }))
}

export interface Measured {
  readonly seconds: number
  readonly samples: readonly number[]
  readonly perSecond: number
}
