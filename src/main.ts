#!/usr/bin/env node
// The entry of the program and of its workers: does as little as possible before the work, since every process of ours
// starts here.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { loadCompiled } from './base/start/compiled.ts'
import { showSourceLines } from './base/start/source-lines.ts'
import { BUILT, VERSION } from './base/version.ts'
import type * as AddProgram from './cli/add-program.ts'
import type * as Program from './cli/program.ts'
import type * as RunProgram from './cli/run-program.ts'
import type * as ServerProgram from './cli/server-program.ts'
import { isPage, verbAt } from './cli/verb-at.ts'
import type * as Worker from './workers/entry.ts'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(`archivebox-ts needs Node 22.18 or newer; this is ${process.versions.node} (${process.execPath})`)
  process.exit(2)
}
showSourceLines()

const [verb, kind] = process.argv.slice(2)
const word = process.argv[verbAt(process.argv)]
if (verb === '--version' || verb === '-V' || verb === 'version') {
  console.log(VERSION)
} else if (verb === 'completion' && kind === 'words') {
  createRequire(import.meta.filename)(join(import.meta.dirname, BUILT ? 'complete.js' : 'complete.ts'))
} else if (verb === 'worker') {
  void (load('worker.js', 'workers/entry.ts') as typeof Worker).worker(kind)
} else if (word === 'add' || isPage(word)) {
  void (load('add.js', 'cli/add-program.ts') as typeof AddProgram).program(process.argv)
} else if (word === 'run') {
  void (load('run.js', 'cli/run-program.ts') as typeof RunProgram).program(process.argv)
} else if (word === 'server') {
  void (load('server.js', 'cli/server-program.ts') as typeof ServerProgram).program(process.argv)
} else {
  void (load('program.js', 'cli/program.ts') as typeof Program).program(process.argv)
}

/** By name, so that the build does not bundle it in here, too. */
function load(built: string, source: string): unknown {
  const file = join(import.meta.dirname, BUILT ? built : source)
  return BUILT ? loadCompiled(file, use(), VERSION) : createRequire(file)(file)
}

/** The purpose of this process, as far as it decides which code is loaded. */
function use(): string {
  if (verb === 'worker') return kind === 'crawl' ? 'crawl-worker' : 'snapshot-worker'
  const uses = ['--help', 'help', '--run', 'add', 'run', 'status', 'crawl', 'snapshot', 'result', 'server']
  return uses.find((word) => process.argv.includes(word))?.replace('--', '') ?? 'command'
}
