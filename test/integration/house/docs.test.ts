import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EXIT_CODES } from '../../../src/cli/exit-codes.ts'
import { readDoc, SHOWN_COMMANDS } from '../../support/docs.ts'
import { newFolder } from '../../support/homes.ts'
import { killAll, processesOf } from '../../support/processes.ts'
import { allIsRead, NODE, PROGRAM, ROOT } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'

// Every command that README and docs show, in their order, on one data dir, as a reader would type them. The site that
// they name is served here.
/** This very run; commands that answer with another code than 0, and why. */
const ITSELF = 'npm test'
const SERVER = 'npx archivebox-ts server --listen 127.0.0.1:0'
const OTHER_CODES: Readonly<Record<string, number>> = {
  'npx archivebox-ts status': 3,
  'npx archivebox-ts status --json': 3,
  'npx archivebox-ts status --prometheus': 3,
  'npx archivebox-ts server link': 1,
} // No runner lives, and no server.

describe('README and docs', () => {
  let site: Site
  let folder = ''
  beforeAll(async () => {
    site = await startSite(3)
    folder = newFolder()
  })
  afterAll(async () => {
    await site.close()
    const left = processesOf(folder)
    killAll(left)
    rmSync(folder, { recursive: true, force: true })
    expect(left).toEqual([])
  })

  it('show commands', () => {
    expect(SHOWN_COMMANDS.length).toBeGreaterThan(15)
    expect(SHOWN_COMMANDS).toContain(ITSELF)
  })

  it.each(EXIT_CODES)('say of exit code %i what --help says of it', (code, means) => {
    expect(readDoc('docs/exit-codes.md')).toContain(`\n| ${code} | ${means} |\n`)
  })

  it.each(SHOWN_COMMANDS.filter((command) => command !== ITSELF))('%s', async (command) => {
    const { code, output } = await shell(
      command
        .replaceAll('https://example.com', site.url)
        // One that ends by itself at last, and not only by Ctrl-C; another program may have that port.
        .replace(/^npx archivebox-ts server(?! link)( --listen \S+)?/, `timeout --preserve-status -s INT 5 ${SERVER}`)
        .replaceAll('npx archivebox-ts', `"${NODE}" "${PROGRAM}"`)
        .replaceAll(/rows\.zst|elsewhere/g, (name) => join(folder, name)),
    )
    expect(code, output).toBe(OTHER_CODES[command] ?? 0)
    expect(output).not.toMatch(/^\s+at /m)
  })

  function shell(command: string): Promise<{ code: number | null; output: string }> {
    const env = {
      PATH: `${join(ROOT, 'node_modules', '.bin')}${delimiter}${process.env['PATH']}`,
      HOME: process.env['HOME'],
      DATA_DIR: join(folder, 'data'),
      NO_COLOR: '1',
    }
    const isHook = command.startsWith('dist/plugins/')
    const child = spawn('/bin/sh', ['-c', isHook ? join(ROOT, command) : command], {
      cwd: isHook ? folder : ROOT,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text))
    return new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (code) => void allIsRead().then(() => resolve({ code, output })))
    })
  }
})
