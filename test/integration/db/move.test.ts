// `db move`: all rows from the embedded server to a database of one's own, whatever happens meanwhile.
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { blocksIn, readDoc } from '../../support/docs.ts'
import { newFolder } from '../../support/homes.ts'
import { endLeft, processesOf } from '../../support/processes.ts'
import { type Call, environmentWith, eventually, NODE, PROGRAM, program, start } from '../../support/program.ts'
import { useSharedServer } from '../../support/shared-database.ts'
import { type Site, startSite } from '../../support/site.ts'

const server = useSharedServer()
let site: Site

beforeAll(async () => {
  site = await startSite(4)
})
afterAll(() => site.close())

/** A data dir with an embedded database, and how to use it. */
function embedded() {
  const dataDir = newFolder()
  onTestFinished(async () => {
    const left = await endLeft(dataDir)
    rmSync(dataDir, { recursive: true, force: true })
    expect(left).toEqual([])
  })
  const on = (call: Call) => ({ ...call, env: { DATA_DIR: dataDir, ...call.env } })
  const cli = async (args: readonly string[], call: Call = {}) => await program(args, on(call))
  const done = async (...args: string[]) => {
    const { code, stdout, stderr } = await cli(args)
    expect(code, stderr).toBe(0)
    return { stdout, stderr }
  }
  return {
    ...{ dataDir, cli, done },
    start: (args: readonly string[], call: Call = {}) => start(args, on(call)),
    add: async (page: number) => await done('add', '--plugins', 'html,title', `${site.url}/page-${page}.html`),
    urls: async () =>
      (await done('crawl', 'list')).stdout
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { urls: string[] }).urls[0]!.slice(-6, -5))
        .sort(),
    config: () => readFileSync(join(dataDir, 'archivebox.toml'), 'utf8'),
  }
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}

describe('db move', () => {
  it('moves every row, counts them, and switches: the archive goes on there, without the old folder, too', async () => {
    const { dataDir, cli, done, add, urls, config } = embedded()
    const url = await server.emptyDatabase()
    await add(1)
    await done('run', '--exit-on-idle')
    await add(2)
    const before = (await done('export')).stdout

    const { stderr } = await done('db', 'move', url)
    expect(stderr).toMatch(/copying a database of [\d.]+ MB to postgres:.*: up to \d+ s, about as much room there, and/)
    expect(stderr).toMatch(/ {2}snapshot: 1 row\n/)
    expect(stderr).toMatch(/moved 1 page of 2 crawls \(\d+ rows\), counted on both sides/)
    expect(stderr).toContain(`remove it: rm -r ${join(dataDir, 'postgres')}`)
    expect(config()).toMatch(/^DATABASE_URL = "postgres:/m)
    expect(processesOf(dataDir)).toEqual([])
    expect((await done('export')).stdout).toBe(before)
    expect(JSON.parse((await done('db', 'status', '--json')).stdout)).toMatchObject({ kind: 'external' })

    rmSync(join(dataDir, 'postgres'), { recursive: true })
    await done('run', '--exit-on-idle')
    expect(await urls()).toEqual(['1', '2'])
    expect((await done('verify')).stdout).toBe('')
    expect(await query(url, 'select count(*)::int as n from snapshot where status = $$sealed$$')).toEqual([{ n: 2 }])
    expect((await done('db', 'move', url)).stderr).toMatch(/nothing to do/)
    // Whoever loses the setting does not begin an empty archive.
    writeFileSync(join(dataDir, 'archivebox.toml'), '')
    const { code, stderr: said } = await cli(['add', 'https://example.com/'])
    expect(code).toBe(1)
    expect(said).toMatch(/the database of .* has moved to postgres:.*\nhint: +set DATABASE_URL/)
    expect(existsSync(join(dataDir, 'postgres'))).toBe(false)
  })

  it('writes a URL with a password into a file that only its owner reads', async () => {
    const { dataDir, cli, add, urls, config } = embedded()
    const url = await server.emptyDatabase()
    await add(1)
    const { code, stderr } = await cli(['db', 'move', url], { env: { PGPASSWORD: 'se cret' } })
    expect(code, stderr).toBe(0)
    expect(stderr).not.toContain('cret')
    const file = join(dataDir, 'database-url')
    expect(config()).toContain(`DATABASE_URL_FILE = "${file}"`)
    expect(config()).not.toContain('cret')
    expect(readFileSync(file, 'utf8')).toBe(`${url}&password=se%20cret\n`)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(await urls()).toEqual(['1'])
  })

  it('refuses what cannot take the rows, in one line, and changes nothing', async () => {
    const { cli, add, done, urls, config } = embedded()
    await add(1)
    const before = config()
    const admin = await server.emptyDatabase()
    await query(admin, 'create role limited')
    await query(admin, "create database ascii encoding 'SQL_ASCII' locale 'C' template template0")
    const [filled, theirs, closed] = [
      await server.emptyDatabase(),
      await server.emptyDatabase(),
      await server.emptyDatabase(),
    ]
    const one = server.newHome(filled)
    await one.add(`${site.url}/page-1.html`)
    await query(theirs, 'create table invoice (id int)')
    await query(closed, 'revoke all on schema public from public')
    const name = /\/(\w+)\?/.exec(admin)![1]!
    for (const [url, line] of [
      [filled, /there is an archive in the database \w+ already/],
      [theirs, /the database \w+ is not empty: it has invoice/],
      [`${closed}&options=-c%20role%3Dlimited`, /limited may not make tables in the database \w+\nhint: .*owner to/],
      [admin.replace(`/${name}?`, '/ascii?'), /the database ascii has the encoding SQL_ASCII: UTF8 is needed/],
      [admin.replace(`/${name}?`, '/missing?'), /database "missing" does not exist/],
      [admin.replace(/\/\/\w+@/, '//stranger:wrong@'), /refused the login/],
      ['postgres://127.0.0.1:1/x', /cannot reach the database/],
      ['http://127.0.0.1/x', /not a database URL/],
    ] as const) {
      const { code, stderr } = await cli(['db', 'move', '--wait-db', '0', url])
      expect(code, stderr).toBeGreaterThan(0)
      expect(stderr).toMatch(line)
      expect(stderr).not.toContain('wrong@')
    }
    const elsewhere = await cli(['db', 'move', admin], { env: { DATABASE_URL: filled } })
    expect(elsewhere.code).toBe(2)
    expect(elsewhere.stderr).toMatch(/DATABASE_URL, set in the environment, names another database/)
    await query(admin, 'drop database ascii')
    await query(admin, 'drop role limited')
    expect(config()).toBe(before)
    expect(await urls()).toEqual(['1'])
    await done('db', 'move', admin)
  })

  it.each(['move.read', 'move.copied', 'move.stopped'])(
    'killed at %s leaves the embedded database in force, and begins anew',
    async (point) => {
      const { dataDir, cli, done, add, urls } = embedded()
      const url = await server.emptyDatabase()
      await add(1)
      const killed = await cli(['db', 'move', url], { env: { ARCHIVEBOX_FAILPOINTS: `${point}=kill9` } })
      expect(killed.signal).toBe('SIGKILL')
      if (point !== 'move.read') {
        // The copy is nobody's yet.
        const early = await cli(['add', `${site.url}/page-3.html`], { env: { DATABASE_URL: url } })
        expect(early.code).toBe(1)
        expect(early.stderr).toMatch(/the copy of a db move that is not finished/)
        const other = embedded()
        await other.add(4)
        const theirs = await other.cli(['db', 'move', url])
        expect(theirs.code).toBe(2)
        expect(theirs.stderr).toMatch(/the copy of another data dir/)
      }
      await add(2)
      expect(await urls()).toEqual(['1', '2'])
      await done('db', 'move', url)
      expect(existsSync(join(dataDir, 'postgres.rows'))).toBe(false)
      expect(await urls()).toEqual(['1', '2'])
      await done('run', '--exit-on-idle')
      expect((await done('verify')).stdout).toBe('')
    },
  )

  it.each(['move.marked', 'move.configured', 'move.unmarked'])(
    'killed at %s has moved, and does what is left',
    async (point) => {
      const { cli, done, add, urls, config } = embedded()
      const url = await server.emptyDatabase()
      await add(1)
      const killed = await cli(['db', 'move', url], { env: { ARCHIVEBOX_FAILPOINTS: `${point}=kill9` } })
      expect(killed.signal).toBe('SIGKILL')
      if (point !== 'move.unmarked') {
        const early = await cli(['add', `${site.url}/page-2.html`])
        expect(early.code).toBe(1)
        expect(early.stderr).toMatch(
          point === 'move.marked' ? /has moved to postgres:/ : /not finished\nhint: .*db move/,
        )
        const wrong = await cli(['db', 'move', await server.emptyDatabase()])
        expect(wrong.code).toBe(2)
        expect(wrong.stderr).toMatch(/is another one|names another database/)
      }
      await done('db', 'move', url)
      expect(config()).toContain('DATABASE_URL = "postgres:')
      await add(2)
      expect(await urls()).toEqual(['1', '2'])
    },
  )

  it('keeps a runner out while it copies, and none that leads is moved away from', async () => {
    const { dataDir, cli, add, urls, start: begin } = embedded()
    const url = await server.emptyDatabase()
    await add(1)
    const leading = begin(['run'])
    await leading.says(/leading/)
    const refused = await cli(['db', 'move', url])
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(/is in use by .*\nhint: +stop them first/)
    leading.signal('SIGTERM')
    expect((await leading.finished()).code).toBe(0)

    const moving = begin(['db', 'move', url], { env: { ARCHIVEBOX_FAILPOINTS: 'move.copied=stop' } })
    await eventually(() => / T /.test(statOf(moving.pid)))
    const waiting = begin(['run'])
    await waiting.says(/the database is not ready yet, waiting for it .*: another process stops or copies it/)
    moving.signal('SIGCONT')
    expect((await moving.finished()).code).toBe(0)
    const { code, stderr } = await waiting.finished()
    expect(code).toBe(1)
    expect(stderr).toMatch(/the database of .* has moved to postgres:/)
    const next = begin(['run', '--exit-on-idle'])
    expect((await next.finished()).code).toBe(0)
    expect(await urls()).toEqual(['1'])
    expect(processesOf(dataDir)).toEqual([])
  })
})

describe('docs/growing.md', () => {
  it('leads from one machine to two in ten commands', async () => {
    const folder = newFolder()
    onTestFinished(async () => {
      const left = await endLeft(folder)
      rmSync(folder, { recursive: true, force: true })
      expect(left).toEqual([])
    })
    const url = await server.emptyDatabase()
    const ours = `"${NODE}" "${PROGRAM}"`
    const env = environmentWith({}) as NodeJS.ProcessEnv
    const shell = async (command: string) =>
      (await promisify(execFile)('/bin/sh', ['-c', command], { cwd: folder, env })).stdout
    const first = `${ours} --data-dir data`
    await shell(`${first} add --run --plugins html,title ${site.url}/page-1.html`)
    const commands = blocksIn(readDoc('docs/growing.md'), 'text').flatMap((block) => block.trim().split('\n'))
    expect(commands).toHaveLength(10)
    for (const command of commands) {
      if (/^create(user|db) /.test(command)) continue // Of the database's own machine: its database is made.
      const here = command.replace('postgres://archive@db.example.org/archive', `'${url}'`).replace('scp one:', 'cp ')
      await shell(here.replace('archivebox-ts', ours).replace(/ run$/, ' run --exit-on-idle'))
    }
    await shell(`${ours} --data-dir elsewhere add --run --plugins html,title ${site.url}/page-2.html`)
    expect((await shell(`${first} snapshot list`)).trim().split('\n')).toHaveLength(2)
    expect(await query(url, 'select state from node')).toEqual([{ state: 'active' }, { state: 'active' }])
  })
})

/** What the kernel says of a process. */
const statOf = (pid: number) => readFileSync(`/proc/${pid}/stat`, 'utf8')
