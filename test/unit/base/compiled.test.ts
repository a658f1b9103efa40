import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { loadCompiled } from '../../../src/base/start/compiled.ts'
import { ROOT } from '../../support/program.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'compiled-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const LOADER = `
  import { loadCompiled } from ${JSON.stringify(join(ROOT, 'src', 'base', 'start', 'compiled.ts'))}
  const [file, use, edition] = process.argv.slice(1)
  console.log(loadCompiled(file, use, edition).say())`

/** Loads a program in a process of its own; what it says. */
function run(use = 'run', edition = '1'): string {
  const args = ['--input-type=module', '-e', LOADER, join(dir, 'program.js'), use, edition]
  return execFileSync(process.execPath, args, { encoding: 'utf8' }).trim()
}

function program(says: string, time = 1_000): void {
  const text = `exports.say = () => '${says} ' + require('node:path').basename(__filename)`
  writeFileSync(join(dir, 'program.js'), `(function (exports, require, module, __filename, __dirname) {${text}\n})`)
  utimesSync(join(dir, 'program.js'), time, time)
}

const cache = () => join(dir, '.compile-cache')
const kept = () => readdirSync(cache()).map((name) => join(cache(), name))

describe('a program that is loaded with the code of an earlier run', () => {
  it('says the same with it as without, and keeps it once for each use', () => {
    program('hello')
    expect(run()).toBe('hello program.js')
    const [first] = kept()
    const { ino } = statSync(first!)
    expect(run()).toBe('hello program.js')
    expect(kept()).toEqual([first])
    expect(statSync(first!).ino).toBe(ino)
    expect(run('add')).toBe('hello program.js')
    expect(kept()).toHaveLength(2)
  })

  it('is what its file says now, be it as long as before, or of another edition at the same time', () => {
    program('hello', 1_000)
    run()
    program('world', 2_000)
    expect(run()).toBe('world program.js')
    program('there', 2_000)
    expect(run('run', '2')).toBe('there program.js')
  })

  it('runs though what was kept is damaged, and keeps it anew', () => {
    program('hello')
    run()
    const [file] = kept()
    for (const damage of [Buffer.alloc(0), Buffer.alloc(500), readFileSync(file!).subarray(0, 50)]) {
      writeFileSync(file!, damage)
      expect(run()).toBe('hello program.js')
      expect(readFileSync(file!).equals(damage)).toBe(false)
    }
  })

  it('keeps it while it runs, too: V8 drops what ran only at the start', () => {
    program('hello')
    vi.useFakeTimers()
    try {
      loadCompiled(join(dir, 'program.js'), 'run', '1')
      vi.advanceTimersByTime(60_000)
    } finally {
      vi.useRealTimers()
    }
    expect(kept()).toHaveLength(1)
  })

  it('keeps it when a process that knows itself how far it is says so, and not before', async () => {
    program('hello')
    const loaded = Promise.withResolvers<void>()
    const ran = Promise.withResolvers<void>()
    const start = { loaded: loaded.promise, ran: ran.promise }
    vi.useFakeTimers()
    try {
      loadCompiled(join(dir, 'program.js'), 'host', '1', start)
      loaded.resolve()
      await vi.advanceTimersByTimeAsync(60_000)
    } finally {
      vi.useRealTimers()
    }
    expect(readdirSync(dir)).toEqual(['program.js'])
    ran.resolve()
    await ran.promise
    await vi.waitFor(() => expect(kept()).toHaveLength(1))
  })

  it('runs where nothing can be kept', () => {
    program('hello')
    writeFileSync(cache(), 'not a folder')
    expect(run()).toBe('hello program.js')
    expect(readdirSync(dir).sort()).toEqual(['.compile-cache', 'program.js'])
  })
})

/** Runs the built program; what it says, and what it has loaded of Node. */
function built(...args: string[]): { said: string; loaded: string[] } {
  const look = 'data:text/javascript,process.once("exit",()=>console.log(process.moduleLoadList.join()))'
  const env = { ...process.env, DATA_DIR: join(dir, 'none') }
  const all = ['--import', look, join(ROOT, 'dist', 'main.js'), ...args]
  const lines = execFileSync(process.execPath, all, { encoding: 'utf8', env, stdio: 'pipe' }).trimEnd().split('\n')
  return { loaded: lines.pop()!.split(','), said: lines.join('\n') }
}

describe('the built program', () => {
  const RARE = [
    'child_process',
    'dns',
    'fs/promises',
    'http',
    'http2',
    'readline',
    'tls',
    'v8',
    'worker_threads',
    'zlib',
  ]
  const rare = RARE.map((name) => `NativeModule ${name}`)

  it('loads of Node what it needs: not what is about other connections, threads and archives', () => {
    const { loaded } = built('--help')
    expect(loaded).toContain('NativeModule net')
    expect(loaded.filter((name) => rare.includes(name))).toEqual([])
  })

  it('loads no more to add a page', () => {
    const { said, loaded } = built('add', '--dry-run', '--json', 'https://example.com/')
    expect(JSON.parse(said)).toMatchObject({ url: 'https://example.com/' })
    expect(loaded).toContain('NativeModule net')
    expect(loaded.filter((name) => rare.includes(name))).toEqual([])
  })

  it('has one `add`, though a file of its own begins with it', () => {
    const { said } = built('help', 'add')
    expect(said).toMatch(/^Usage: archivebox-ts add /)
    expect(built('add', '--help').said).toBe(said)
    expect(built('--json', '--data-dir', 'elsewhere', 'add', '--help').said).toBe(said)
    expect(built('example.com', '--help').said).toBe(said)
  })
})
