import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { NODE, ROOT } from '../../support/program.ts'

/** Runs a built program after this script. */
function run(before: string, file: string, ...args: string[]): { code: number | null; stderr: string } {
  const [path] = globSync(join(ROOT, 'dist', file))
  const all = ['--import', `data:text/javascript,${before}`, path!, ...args]
  const { status, stderr } = spawnSync(NODE, all, { encoding: 'utf8', env: { LOG_LEVEL: 'debug' } })
  return { code: status, stderr }
}

/** The lines of our sources that a stack names, the innermost first. */
function linesIn(stack: string): string[] {
  const places = [...stack.matchAll(/^ {4}at .*?(src\/[\w./-]+\.ts):(\d+)\)?$/gm)]
  return places.map(([, file, line]) => readFileSync(join(ROOT, file!), 'utf8').split('\n')[Number(line) - 1]!.trim())
}

const FAILS = '=()=>{throw new Error("provoked")}'

describe('a stack of the built program', () => {
  it('names the line of our source, and nothing prints the bundle', () => {
    const { code, stderr } = run(`console.log${FAILS}`, 'main.js', '--version')
    expect(code).toBe(1)
    expect(stderr).toMatch(/^Error: provoked\n/)
    expect(linesIn(stderr)).toEqual(['console.log(VERSION)'])
    expect(stderr.length).toBeLessThan(5_000)
  })

  it('names it in what is loaded as a whole, through what is awaited', () => {
    const { code, stderr } = run(`process.stdout.write${FAILS}`, 'main.js', 'add', '--dry-run', 'https://example.com/')
    expect(code).toBe(1)
    const lines = linesIn(stderr)
    expect(lines[0]).toContain('process.stdout.write(')
    expect(lines.at(-1)).toContain('await parse(')
  })

  it('names it in hooks, and in their host', () => {
    const hook = run(`process.exit${FAILS}`, 'plugins/title/on_*.js')
    expect(linesIn(hook.stderr).slice(0, 3)).toEqual([
      "process.exit(process.argv.includes('--help') ? EXIT.ok : EXIT.usage)",
      'if (isStarted(meta)) void runAsProgram(definition.plugin, hook)',
      expect.stringContaining('defineHook(import.meta'),
    ])
    const fails = `process.on=(...of)=>of[0]==="disconnect"?(${FAILS.slice(1)})():on.apply(process,of)`
    expect(linesIn(run(`const on=process.on;${fails}`, 'hook-host.js').stderr)).toEqual([
      "process.on('disconnect', () => process.exit(0))",
      'serve(loaded.resolve, ran.resolve)',
    ])
  })

  it('is what needs the maps: a start reads none', () => {
    const before =
      'import fs from "node:fs";const read=fs.readFileSync;' +
      'fs.readFileSync=(file,...rest)=>(/\\.map$/.test(file)&&console.error("read",file),read(file,...rest))'
    const { code, stderr } = run(before, 'main.js', 'add', '--dry-run', 'https://example.com/')
    expect(code).toBe(0)
    expect(stderr).not.toContain('read')
    expect(run(`${before};console.log${FAILS}`, 'main.js', '--version').stderr).toMatch(/^read .*dist\/main\.js\.map$/m)
  })
})
