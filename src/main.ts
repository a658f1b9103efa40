#!/usr/bin/env node
// The entry of the program and of its workers: as little as possible before the work, since every process of ours starts here.
import { accessSync, constants, mkdirSync } from 'node:fs'
import module from 'node:module'
import { join } from 'node:path'
import { VERSION } from './base/version.ts'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(`archivebox-ts needs Node 22.18 or newer; this is ${process.versions.node} (${process.execPath})`)
  process.exit(2)
}

const [verb, kind] = process.argv.slice(2)
if (verb === '--version' || verb === '-V' || verb === 'version') {
  console.log(VERSION)
} else {
  keepCompiledCode()
  if (verb === 'worker') void import('./workers/entry.ts').then(({ worker }) => worker(kind))
  else void import('./cli/program.ts').then(({ program }) => program(process.argv))
}

/** Compiled code beside the program, where that is writable: halves the start of everything but the first run. */
function keepCompiledCode(): void {
  const folder = join(import.meta.dirname, '.compile-cache')
  try {
    mkdirSync(folder, { recursive: true })
    accessSync(folder, constants.W_OK)
    module.enableCompileCache(folder)
  } catch {
    // Installed read-only: it starts as well, only slower.
  }
}
