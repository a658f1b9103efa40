import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { DatabaseProxy } from '../../support/database-proxy.ts'
import { newFolder, useHomes } from '../../support/homes.ts'
import { perTest } from '../../support/per-test.ts'
import { killAll, processesOf } from '../../support/processes.ts'
import { program, type Running, start } from '../../support/program.ts'
import { queuedPages } from '../../support/queued.ts'

const homes = useHomes()
const here = perTest<{ readonly dataDir: string; readonly started: Running[] }>(
  async () => {
    const dataDir = newFolder()
    const { code, stderr } = await program(['init'], { env: { DATA_DIR: dataDir } })
    expect(code, stderr).toBe(0)
    return { dataDir, started: [] }
  },
  async ({ dataDir, started }) => {
    for (const one of started) if (!one.isOver) one.signal('SIGKILL')
    await cli(['db', 'stop', '--force'])
    killAll(processesOf(dataDir))
    rmSync(dataDir, { recursive: true, force: true })
  },
)
const cli = (args: readonly string[]) => program(args, { env: { DATA_DIR: here().dataDir } })
const postmaster = () => Number(readFileSync(join(here().dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])

async function fine(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli(args)
  expect(code, `${args.join(' ')}: ${stderr}`).toBe(0)
  return stdout
}

describe.concurrent('every command, when the database server was killed', () => {
  it.each([
    ['and nobody leads: it starts it', false],
    ['and a runner leads', true],
  ])('comes through, %s', async (_what, isLed) => {
    if (isLed) {
      const runner = start(['run', '--exclude', 'crawl'], { env: { DATA_DIR: here().dataDir } })
      here().started.push(runner)
      await runner.says(/leading/)
    } else await fine('db', 'start')
    const { id } = JSON.parse(await fine('add', '--tag', 'a', 'http://127.0.0.1:1/1')) as { id: string }
    const other = JSON.parse(await fine('add', 'http://127.0.0.1:1/2')) as { id: string }
    const writes = [
      ['crawl', 'pause', id],
      ['crawl', 'resume', id],
      ['crawl', 'cancel', id],
      ['crawl', 'retry', id],
      ['crawl', 'delete', '--yes', other.id],
      ['add', 'http://127.0.0.1:1/3'],
    ]
    const reads = [
      ['crawl', 'list'],
      ['snapshot', 'list'],
      ['tag', 'list'],
      ['schedule', 'list'],
      ['process', 'list'],
    ]
    // Whoever reads, and writes beside that, comes while the server is away, or on its way up again.
    for (const [index, write] of writes.entries()) {
      process.kill(postmaster(), 'SIGKILL')
      await Promise.all([fine(...write), fine(...reads[index % reads.length]!)])
    }
    expect((await fine('crawl', 'list', '-o', 'ids')).trim().split('\n')).toHaveLength(2)
  })
})

describe.concurrent('a database that goes away while a command works', () => {
  it.each([
    ['crawl', 'cancel'],
    ['crawl', 'retry'],
    ['crawl', 'delete', '--yes'],
    ['crawl', 'show'],
    ['crawl', 'pause'],
  ])('%s %s waits for it, and does what it is told once', async (...verb) => {
    const home = await homes.make()
    const id = await home.add('http://127.0.0.1:1/1')
    const proxy = await DatabaseProxy.before(home.databaseUrl)
    try {
      // The answer to what every command asks when it has opened its data dir never comes.
      const cut = proxy.cutInsteadOfReplyTo(/"?crawl"?/)
      const command = home.start([...verb, id], { env: { DATABASE_URL: proxy.url } })
      await cut
      proxy.refuse()
      await command.says(/the database is unavailable, waiting for it \(up to 15 s\)/)
      proxy.pass()
      const { code, stderr } = await command.finished()
      expect(code, stderr).toBe(0)
    } finally {
      await proxy.close()
    }
  })

  it.each([
    ['waits for its turn', /pg_advisory_xact_lock/, undefined],
    ['has committed', /commit/, /pg_advisory_xact_lock/],
  ])(
    'snapshot delete waits for it when it %s, and deletes the page once, with its files',
    async (_when, what, after) => {
      const home = await homes.make()
      const { pages } = await queuedPages(home, ['http://127.0.0.1:1/1', 'http://127.0.0.1:1/2'])
      const [dir, other] = await Promise.all(
        pages.map((id) => home.value<string>('select output_dir from snapshot where id = $1', [id])),
      )
      for (const each of [dir!, other!]) mkdirSync(join(home.dataDir, each), { recursive: true })
      writeFileSync(join(home.dataDir, dir!, 'index.html'), 'x')
      const proxy = await DatabaseProxy.before(home.databaseUrl)
      try {
        const cut = proxy.cutInsteadOfReplyTo(what, after)
        const command = home.start(['snapshot', 'delete', '--yes', pages[0]!], { env: { DATABASE_URL: proxy.url } })
        await cut
        const { code, stdout, stderr } = await command.finished()
        expect(code, stderr).toBe(0)
        expect(stdout + stderr).not.toMatch(/no longer|not there/)
      } finally {
        await proxy.close()
      }
      expect(await home.query('select id from snapshot')).toEqual([{ id: pages[1] }])
      expect([dir, other].map((each) => existsSync(join(home.dataDir, each!)))).toEqual([false, true])
      expect(existsSync(join(home.dataDir, 'archive', '.deleted'))).toBe(false)
    },
  )

  it('is waited for no longer than --wait-db says', async () => {
    const home = await homes.make()
    const id = await home.add('http://127.0.0.1:1/1')
    const proxy = await DatabaseProxy.before(home.databaseUrl)
    try {
      const cut = proxy.cutInsteadOfReplyTo(/"?crawl"?/)
      const command = home.start(['--wait-db', '1', 'crawl', 'cancel', id], { env: { DATABASE_URL: proxy.url } })
      await cut
      proxy.refuse()
      const { code, stderr } = await command.finished()
      expect(code, stderr).toBe(1)
      expect(stderr).toMatch(/^error: waited 1 s for the database: (?!waited)/m)
    } finally {
      await proxy.close()
    }
  })
})
