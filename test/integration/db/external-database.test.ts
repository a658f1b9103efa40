import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withPassword } from '../../../src/base/secrets.ts'
import { expectComplete, pagesOf } from '../../support/archive.ts'
import { newFolder, type TestHome } from '../../support/homes.ts'
import { openRows, sealedCrawl } from '../../support/observer.ts'
import { processesOf } from '../../support/processes.ts'
import { eventually, program, start } from '../../support/program.ts'
import { useSharedServer } from '../../support/shared-database.ts'
import { type Site, startSite } from '../../support/site.ts'

const { emptyDatabase, newHome } = useSharedServer()
let site: Site

beforeAll(async () => {
  site = await startSite(6)
})
afterAll(() => site.close())

const page = (number: number) => `${site.url}/page-${number}.html`

describe('a database of somebody else', () => {
  it('takes the whole life of an archive: init, add, run, status; no server of our own is started or made', async () => {
    const home = newHome(await emptyDatabase())
    const made = await home.run(['init'])
    expect(made.code, made.stderr).toBe(0)
    expect(made.stderr).toMatch(/^the database is created$/m)
    const again = await home.run(['init'])
    expect(again.code, again.stderr).toBe(0)
    expect(again.stderr).not.toMatch(/is made|applied/)

    const id = await home.add('--plugins', 'html,title,hashes', page(1), page(2))
    const { code, stderr } = await home.run(['run', '--exit-on-idle'])
    expect(code, stderr).toBe(0)
    expect(await expectComplete(home, id)).toHaveLength(2)
    expect(await openRows(home)).toEqual([])

    const status = await home.run(['status', '--json'])
    expect(status.code, status.stderr).toBe(3)
    expect(JSON.parse(status.stdout)).toMatchObject({
      database: { kind: 'external', running: true },
      queue: { crawl: { sealed: 1 }, snapshot: { sealed: 2 } },
    })
    expect(readdirSync(home.dataDir)).not.toContain('postgres')
    expect(processesOf(home.dataDir)).toEqual([])
  })

  it('may be named by the option, and by archivebox.toml; the option wins', async () => {
    const url = await emptyDatabase()
    const home = newHome(url)
    const nowhere = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing', WAIT_DB: '0' }
    const { code, stderr } = await home.run(['--database-url', url, 'add', '--plugins', 'html', page(1)], {
      env: nowhere,
    })
    expect(code, stderr).toBe(0)
    expect((await home.run(['run', '--exit-on-idle', '--database-url', url], { env: nowhere })).code).toBe(0)
    await expectComplete(home, await home.value<string>('select id from crawl'))
    expect((await home.run(['status'], { env: nowhere })).code).toBe(1)
    writeFileSync(join(home.dataDir, 'archivebox.toml'), `DATABASE_URL = '${url}'\n`)
    const { stdout } = await program(['status'], { env: { DATA_DIR: home.dataDir } })
    expect(JSON.parse(stdout)).toMatchObject({ database: { kind: 'external' }, queue: { crawl: { sealed: 1 } } })
    expect(readdirSync(home.dataDir)).not.toContain('postgres')
  })

  it('is named by a file or a credential, and stands in no environment that hooks of our account can read', async () => {
    const url = withPassword(await emptyDatabase(), 'hush-hush')
    const home = newHome(url)
    const credentials = newFolder()
    const file = join(credentials, 'database-url')
    writeFileSync(file, `${url}\n`, { mode: 0o600 })
    const ways: Record<string, string>[] = [
      { DATABASE_URL: url },
      { DATABASE_URL_FILE: file },
      { CREDENTIALS_DIRECTORY: credentials },
    ]
    expect((await home.run(['init'])).code).toBe(0)
    home.install('slow')
    for (const [index, way] of ways.entries()) {
      home.hold('slow')
      await home.add('--plugins', 'slow', page(index + 1))
      const runner = start(['run', '--exit-on-idle'], { env: { DATA_DIR: home.dataDir, ...way } })
      const seen = await eventually(() => {
        const all = processesOf(home.dataDir)
        return all.some(({ command }) => command.includes('slow.sh')) ? all : undefined
      })
      expect(seen.length).toBeGreaterThan(4) // The runner, two workers, a guardian and the hook.
      for (const { pid, command, environ } of seen)
        if (pid !== runner.pid || way['DATABASE_URL'] === undefined)
          expect(environ.join('\n'), command).not.toContain('hush-hush')
      home.letGo('slow')
      expect((await runner.finished()).code).toBe(0)
    }
    rmSync(credentials, { recursive: true })
  })

  it('is used by add --run, which hands it to the runner that it starts', async () => {
    const url = await emptyDatabase()
    const home = newHome(url)
    const nowhere = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' }
    const { code, stdout, stderr } = await home.run(
      ['add', '--run', '--json', '--database-url', url, '--plugins', 'html', page(1)],
      {
        env: nowhere,
      },
    )
    expect(code, stderr).toBe(0)
    await expectComplete(home, (JSON.parse(stdout) as { id: string }).id)
  })

  it('that a newer program has migrated is refused by every command, in one line, and nothing is changed', async () => {
    const home = newHome(await emptyDatabase())
    expect((await home.run(['init'])).code).toBe(0)
    await home.query("insert into schema_migration (version, name) values (9001, 'from_the_future')")
    const tables = ['process', 'crawl', 'snapshot', 'machine', 'schema_migration', 'runner_term']
    const rows = async () => await Promise.all(tables.map((table) => home.query(`select * from ${table} order by 1`)))
    const before = await rows()
    const files = readdirSync(home.dataDir)
    for (const args of [
      ['init'],
      ['add', page(1)],
      ['run', '--exit-on-idle'],
      ['status'],
      ['process', 'list'],
      ['crawl', 'list'],
    ]) {
      const { code, stdout, stderr } = await home.run(args)
      expect(code, `${args.join(' ')}: ${stderr}`).not.toBe(0)
      expect(stdout).toBe('')
      const lines = stderr.trim().split('\n')
      expect(lines, stderr).toHaveLength(2)
      expect(lines[0]).toMatch(/^error: the database has schema version 9001, this program knows \d+$/)
      expect(lines[1]).toMatch(/^hint: .*newer archivebox-ts/)
    }
    expect(await rows()).toEqual(before)
    expect(readdirSync(home.dataDir)).toEqual(files)
  })

  it('that already holds tables of the same names is left as it is, and refused', async () => {
    const home = newHome(await emptyDatabase())
    await home.query('create table crawl (mine text)')
    await home.query("insert into crawl values ('mine')")
    const { code, stderr } = await home.run(['init'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/"crawl" already exists/)
    expect(stderr).not.toMatch(/^\s+at /m)
    expect(await home.query('select * from crawl')).toEqual([{ mine: 'mine' }])
    expect(
      await home.query("select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace"),
    ).toEqual([{ relname: 'crawl' }])
    await home.query('drop table crawl')
    expect((await home.run(['init'])).code).toBe(0)
  })
})

describe('two data dirs on one database', () => {
  it('have a runner each, and neither takes over from the other; what is added is archived once', async () => {
    const url = await emptyDatabase()
    const both = [newHome(url), newHome(url)]
    for (const home of both) expect((await home.run(['init'])).code).toBe(0)
    const runners = []
    for (const home of both) {
      const runner = home.start(['run'])
      await runner.says(/leading \(term 1\)/)
      runners.push(runner)
    }
    const [one, two] = both as [TestHome, TestHome]
    const leaders = await one.query<{ data_dir: string }>(
      "select data_dir from process where worker_type = 'worker_runner' and status = 'running' order by seq",
    )
    expect(leaders.map(({ data_dir }) => data_dir)).toEqual(both.map(({ dataDir }) => dataDir))
    for (const [index, home] of both.entries()) {
      const { code, stdout } = await home.run(['status'])
      expect(code).toBe(0)
      expect(JSON.parse(stdout)).toMatchObject({ runner: { pid: runners[index]!.pid, term: 1 }, standbys: [] })
      const listed = (await home.run(['process', 'list', '--worker-type', 'worker_runner'])).stdout.trim().split('\n')
      expect(listed.map((line) => (JSON.parse(line) as { pid: number }).pid)).toEqual([runners[index]!.pid])
    }

    const id = await one.add('--plugins', 'html', page(3), page(4))
    await sealedCrawl(one, id)
    expect(await pagesOf(one, id)).toHaveLength(2)
    expect(await one.query('select status, attempt from archive_result')).toEqual(
      Array(2).fill({ status: 'succeeded', attempt: 1 }),
    )

    // The end of one is not the end of the other.
    runners[0]!.signal('SIGTERM')
    expect((await runners[0]!.finished()).code).toBe(0)
    expect(runners[1]!.isOver).toBe(false)
    expect((await one.run(['status'])).code).toBe(3)
    expect((await two.run(['status'])).code).toBe(0)
    const next = await two.add('--plugins', 'html', page(5))
    await sealedCrawl(two, next)
    await expectComplete(two, next)

    // A takeover in one of them leaves the other alone.
    const second = one.start(['run'])
    await second.says(/leading \(term 2\)/)
    const third = one.start(['run'])
    await third.says(/leading \(term 3\)/)
    expect((await second.finished()).code).toBe(0)
    expect(runners[1]!.isOver).toBe(false)
    for (const runner of [third, runners[1]!]) {
      runner.signal('SIGTERM')
      expect((await runner.finished()).code).toBe(0)
    }
    await eventually(async () => (await openRows(one)).length === 0)
  })

  it('that has a database of its own does not join the other by the settings of a copy', async () => {
    const url = await emptyDatabase()
    const [original, drill] = [newHome(url), newHome(url)]
    const ended = await original.run(['run', '--exit-on-idle'])
    expect(ended.code, ended.stderr).toBe(0)
    const env = { DATA_DIR: drill.dataDir }
    expect((await program(['init'], { env })).code).toBe(0)
    writeFileSync(join(drill.dataDir, 'archivebox.toml'), `DATABASE_URL = "${url}"\n`)
    for (const verb of ['verify', 'run'])
      expect(await program([verb], { env })).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(
          /has a database of its own.*archivebox\.toml, names that of other data dirs\nhint/,
        ),
      })
    expect(await original.query('select data_dir from node')).toEqual([{ data_dir: original.dataDir }])
    rmSync(join(drill.dataDir, 'postgres'), { recursive: true })
    const joined = await program(['run', '--exit-on-idle'], { env })
    expect(joined.code, joined.stderr).toBe(0)
  })
})
