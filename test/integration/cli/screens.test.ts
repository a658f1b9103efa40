// What people see in a real terminal: the live view, status --watch, tables; and what programs read instead.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadWidths, widthOf } from '../../../src/cli/screen/width.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { eventually } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'
import { noTmux, Terminal } from '../../support/tmux.ts'

const homes = useHomes()
const terminals: Terminal[] = []
let site: Site
const NASTY = '日本語 👩‍👩‍👧‍👦 \u202Eevil \u200b'

beforeAll(async () => {
  site = await startSite({ '/': `<title>${NASTY}</title>text`, '/other.html': '<title>Other</title>text' })
  await loadWidths([NASTY])
})
afterAll(() => site.close())

function terminal(home: TestHome, command: string, size: { columns: number; rows?: number; term?: string }): Terminal {
  const opened = new Terminal(home, command, size)
  terminals.push(opened)
  return opened
}

/** Runs what needs terminals, and closes them before anybody looks for what is left. */
async function inTerminals(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } finally {
    for (const each of terminals.splice(0)) each.close()
  }
}

const slow = (seconds: number) => ['--plugins', 'slow', '-c', `SLOW_SECONDS=${seconds}`] as const

describe.skipIf(noTmux)(`in a terminal ${noTmux || ''}`, () => {
  it('add --run says how each page ends above a live part, and answers Ctrl-C at once', async () => {
    await inTerminals(async () => {
      const home = await homes.make()
      home.install('slow')
      const urls = `${site.url}/other.html http://127.0.0.1:1/refused ${site.url}/`
      const shown = terminal(home, `PROGRAM add --run --plugins html,title ${urls}`, { columns: 80 })
      const end = (await shown.shows(/exit code 10/)).join('\n')
      expect(end).toMatch(/✓ http\S+other\.html {2}Other/)
      expect(end).toMatch(/✗ http:\/\/127\.0\.0\.1:1\/refused {2}connection refused/)
      expect(end).toMatch(/✓ \S+\/ {2}日本語 .*evil/)
      expect(end).toMatch(/3 pages: 2 archived, 1 failed$/m)
      expect(end).not.toMatch(/Ctrl-C|░/)

      const failed = await home.value<string>("select id from snapshot where outcome = 'failed'")
      const page = terminal(home, `PROGRAM snapshot show ${failed}`, { columns: 80 })
      const told = (await page.shows(/exit code 0/)).join('\n')
      expect(told).toMatch(/^cause +connection refused$[\s\S]*^failed +html: connection refused by 127/m)
      expect(told).toMatch(new RegExp(`^try again +archivebox-ts snapshot retry --failed ${failed.slice(-8)}$`, 'm'))
      expect(told).not.toMatch(/null|\{\}|\[\]|needs html/)

      const stopped = terminal(home, `PROGRAM add --run ${slow(1_000).join(' ')} ${site.url}/a/long/path.html`, {
        columns: 40,
      })
      const live = await stopped.shows(/slow +\d+ s \S*…/)
      expect(live.join('\n')).toMatch(/░{8,} {2}0\/1 0%/)
      for (const line of live.slice(-4)) expect(widthOf(line)).toBeLessThanOrEqual(40)
      stopped.keys('C-c')
      await stopped.shows(/waiting for slow on\s+http[\s\S]*\sat most\s+\d+ (s|min)[\s\S]*stopping/)
      await new Promise((resolve) => setTimeout(resolve, 300)) // Two signals within 150 ms count as one.
      stopped.keys('C-c')
      const over = (await stopped.shows(/exit code 130/)).join('\n')
      expect(over).not.toMatch(/░/)
      expect(over.match(/waiting for slow/g)).toHaveLength(1)
      expect(over).toMatch(/SIGINT: killing hooks\s+now[\s\S]*stopped before the end/)
    })
  })

  it('run shows what it works on; a daemon says lines alone', async () => {
    await inTerminals(async () => {
      const home = await homes.make()
      home.install('slow')
      const run = terminal(home, 'PROGRAM run', { columns: 60 })
      await run.shows(/waiting for work/)
      home.hold('slow')
      await home.add(...slow(0), '--label', 'My crawl', `${site.url}/`)
      await run.shows(/^My crawl {2}[0-9a-f]{8}\n░+ {2}0\/1 0%\n {2}slow +\d+ s http/m)
      // Narrower while it is drawn: nothing of the old lines stays.
      run.resize(30, 24)
      await run.shows(/░+ {2}0\/1 0%\n {2}slow +\d+ s/)
      home.letGo('slow')
      await run.shows(/✓ http[\s\S]*waiting for work/)
      expect(run.lines.filter((line) => line.startsWith('My crawl'))).toEqual([])
      run.keys('C-c')
      const end = (await run.shows(/exit code 0/)).join('')
      // One line answers the key, and the last ones say what came of it.
      expect(end).not.toMatch(/SIGINT: draining/)
      expect(end).toMatch(/drained \(SIGINT\); 1 page in \d+ s: 1 archivedopen: /)
      const daemon = terminal(home, 'PROGRAM run --daemon --exit-on-idle', { columns: 60 })
      expect((await daemon.shows(/exit code 0/)).join('\n')).not.toMatch(/waiting for work|Ctrl-C/)
    })
  })

  it('status --watch redraws in place, follows the size, scrolls, and gives the terminal back', async () => {
    await inTerminals(async () => {
      const home = await homes.make()
      const shown = terminal(home, 'echo before; PROGRAM status --watch', { columns: 80 })
      expect((await shown.shows(/runner +none/)).join('\n')).not.toContain('before')
      const runner = home.start(['run'])
      await shown.shows(new RegExp(`runner +running, pid ${runner.pid}`))
      await home.add('--plugins', 'html', '--label', NASTY, `${site.url}/`, 'http://127.0.0.1:1/')
      await shown.shows(/pages +1 archived, 1 failed[\s\S]*last failures\n {2}http\S+: connection refused\n.*retry/)
      shown.resize(20, 8)
      const [first, ...others] = await shown.shows(/^data dir[\s\S]*\d+-\d+ of \d+/)
      for (const line of [first!, ...others]) expect(widthOf(line)).toBeLessThanOrEqual(20)
      shown.keys('G')
      await eventually(() => shown.lines[0] !== first)
      shown.keys('g')
      await eventually(() => shown.lines[0] === first)
      shown.keys('Down', 'Down')
      await eventually(() => shown.lines[0] === others[1])
      shown.keys('q')
      expect((await shown.shows(/exit code 0/))[0]).toBe('before')
      runner.signal('SIGTERM')
      await runner.finished()
    })
  })

  it('lists and status fit 80, 40 and 20 columns; a dumb terminal gets no escape sequence', async () => {
    await inTerminals(async () => {
      const home = await homes.make()
      await home.add('--plugins', 'html,title', `${site.url}/`, 'http://127.0.0.1:1/')
      await home.run(['run', '--exit-on-idle'])
      for (const columns of [80, 40, 20]) {
        for (const command of ['crawl list', 'snapshot list', 'result list', 'process list --all', 'status']) {
          const shown = terminal(home, `PROGRAM ${command}`, { columns, rows: 60 })
          const lines = await shown.shows(/exit code/)
          const rows = lines.filter((line) => /^[0-9a-f]{8} /.test(line))
          for (const line of lines) expect(widthOf(line), command).toBeLessThanOrEqual(columns)
          if (command === 'snapshot list') expect(rows).toHaveLength(2)
          if (command === 'snapshot list') expect(rows.join('\n')).not.toContain('\u202E')
        }
      }
      const dumb = terminal(home, 'PROGRAM status | cat -v; PROGRAM status >/dev/tty', { columns: 80, term: 'dumb' })
      expect((await dumb.shows(/exit code/)).join('\n')).not.toMatch(/\^\[|[█░✓]/)
    })
  })
})

describe('without a terminal', () => {
  const lines = (text: string) => text.split('\n').filter(Boolean)

  it('add --run --json says one object a line, with whose it is', async () => {
    const home = await homes.make()
    const args = ['--plugins', 'html,title', `${site.url}/`, 'http://127.0.0.1:1/']
    const { stdout, stderr, code } = await home.run(['add', '--run', '--json', ...args])
    expect(code).toBe(10)
    const { id } = JSON.parse(stdout) as { id: string }
    const said = lines(stderr).map((line) => JSON.parse(line) as Record<string, unknown>)
    const ids = { crawl_id: id, snapshot_id: expect.any(String), process_id: expect.any(String) }
    const runner_id = await home.value("select id from process where process_type = 'orchestrator'")
    expect(said).toContainEqual(
      expect.objectContaining({ ...ids, runner_id, outcome: 'failed', cause: 'connection refused' }),
    )
    expect(said).toContainEqual(expect.objectContaining({ ...ids, outcome: 'archived', url: `${site.url}/` }))
    expect(said.map(({ level }) => level)).not.toContain(undefined)

    await home.add(...args)
    const run = await home.run(['run', '--exit-on-idle', '--json'])
    const runLines = lines(run.stderr).map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(runLines.every((line) => typeof line['runner_id'] === 'string')).toBe(true)
    const messages = runLines.map(({ message }) => String(message))
    expect(messages.slice(-3)).toEqual([
      expect.stringMatching(/^nothing left to do; 2 pages in \d+ s: 1 archived, 1 failed$/),
      expect.stringMatching(/^open: +\/.*crawls.*\/index\.html$/),
      expect.stringMatching(/^try again: archivebox-ts crawl retry --failed \w{8}, then archivebox-ts run$/),
    ])
    const ends = runLines.filter(({ outcome }) => outcome !== undefined)
    expect(ends.map(({ outcome }) => outcome).sort()).toEqual(['archived', 'failed'])
    const worker = ends[0]!['process_id']
    expect(await home.value('select worker_type from process where id = $1', [worker])).toBe('snapshot')
  })

  it('add --run says how each page ended in plain lines; with -q nothing', async () => {
    const home = await homes.make()
    const args = ['add', '--again', '--run', '--plugins', 'html,title', `${site.url}/`, 'http://127.0.0.1:1/']
    const { stderr } = await home.run(args)
    expect(stderr).toMatch(/page +failed http:\/\/127\.0\.0\.1:1\/: connection refused\n/)
    expect(stderr).toMatch(
      /2 pages: 1 archived, 1 failed\nmade: .*html, title\nopen: .*index\.html\nall pages: .*\n.*crawl retry --failed/,
    )
    expect(stderr).not.toContain('\u001b')
    expect((await home.run(['-q', ...args])).stderr).toBe('')
  })

  it('colours are there when they are asked for, and green is for archived alone', async () => {
    const home = await homes.make()
    await home.run(['add', '--run', '--plugins', 'html,title', `${site.url}/`, 'http://127.0.0.1:1/'])
    const table = async (env: Record<string, string>) =>
      (await home.run(['snapshot', 'list', '-o', 'table'], { env })).stdout
    const forced = await table({ NO_COLOR: '', FORCE_COLOR: '1' })
    expect(forced).toContain('\u001b[32marchived')
    expect(forced).toContain('\u001b[31mfailed')
    expect(await table({ NO_COLOR: '1', FORCE_COLOR: '1' })).not.toContain('\u001b')
    expect(await table({ NO_COLOR: '', FORCE_COLOR: '0' })).not.toContain('\u001b')
    expect(await table({ NO_COLOR: '' })).not.toContain('\u001b')
  })
})
