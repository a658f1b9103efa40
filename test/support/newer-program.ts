import { cpSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { migrations } from '../../src/db/migrate.ts'
import { newFolder } from './folders.ts'
import { type Call, NODE, ROOT } from './program.ts'

/** The version of what a newer program has on top. */
export const TOMORROW = migrations().at(-1)!.version + 1

/** How to call the program of tomorrow: this one, with another migration. It is removed after the test. */
export function newerProgram(kind: 'additive' | 'breaking', sql: string): Call {
  const folder = newFolder()
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  cpSync(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true })
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const name = `${String(TOMORROW).padStart(4, '0')}_tomorrow.sql`
  writeFileSync(join(folder, 'dist', 'migrations', name), `-- changes: what comes next\n-- kind: ${kind}\n${sql}\n`)
  return { under: ['sh', '-c', `shift 2; exec "${NODE}" "${join(folder, 'dist', 'main.js')}" "$@"`, 'sh'] }
}
