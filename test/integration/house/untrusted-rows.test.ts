import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isTrusted, TRUSTED_FILE, trust } from '../../../src/base/trusted-settings.ts'
import { migrations } from '../../../src/db/migrate.ts'
import { expectComplete } from '../../support/archive.ts'
import { useDatabases } from '../../support/engine.ts'
import { newFolder, type TestHome, useHomes } from '../../support/homes.ts'
import { schemaOf } from '../../support/kept-data-dirs.ts'
import { plugin } from '../../support/plugins.ts'
import { program } from '../../support/program.ts'
import { lines, records, refusal } from '../../support/records.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
const databases = useDatabases()
let site: Site
let home: TestHome
beforeAll(async () => {
  site = await startSite(4)
  home = await homes.original()
  plugin(home, 'dump', 'env >env.txt')
  const properties = { DUMP_ARGS: { type: 'array' }, DUMP_FLAG: { type: 'boolean' }, DUMP_AGENT: AGENT }
  writeFileSync(join(home.dataDir, 'plugins', 'dump', 'config.json'), JSON.stringify({ properties }))
  writeFileSync(join(home.dataDir, 'archivebox.toml'), 'CHROME_ENABLED = false\nWGET_ENABLED = false\n')
})
afterAll(() => site.close())

const AGENT = { type: 'string', 'x-fallback': 'USER_AGENT' }
const url = (page: number) => `${site.url}/page-${page}.html`

/** What nobody but the owner of the machine or of the command line may say; each takes its value. */
const EVIL: Readonly<Record<string, string>> = {
  ...{ DUMP_ARGS: '["--exec","evil"]', WGET_ARGS_EXTRA: '["-O","/evil"]', WGET_BINARY: '/evil', PATH: '/evil' },
  ...{ HOME: '/evil', NODE_BINARY: '/evil', ABX_PLUGINS_DIR: '/evil', LD_PRELOAD: '/evil.so', TMPDIR: '/evil' },
  ...{ HTTPS_PROXY: 'http://evil', https_proxy: 'http://evil', SSL_CERT_FILE: '/evil', CURL_CA_BUNDLE: '/evil' },
  ...{ NODE_EXTRA_CA_CERTS: '/evil', NODE_OPTIONS: '--import=/evil', COOKIES_FILE: '/evil', USER_AGENT: 'evil {HUSH}' },
  ...{ AUTH_STORAGE_FILE: '/evil', ALLOW_PRIVATE_HOSTS: 'evil', ARCHIVEDOTORG_URL: 'http://evil', DUMP_NEW: 'evil' },
}
const ENV = { HUSH: 'not for a page' }

/** The environments that the hook of a crawl's pages has had, by URL. */
async function told(crawl: string): Promise<Record<string, string>> {
  const pages = await expectComplete(home, crawl)
  const textOf = (dir: string) => readFileSync(join(home.dataDir, dir, 'dump', 'env.txt'), 'utf8')
  return Object.fromEntries(pages.map(({ url, output_dir }) => [url, textOf(output_dir)]))
}

describe('a record from a pipe', () => {
  it.each([['snapshot'], ['crawl']])('tells a program nothing through %s create', async (kind) => {
    for (const [name, value] of Object.entries({ ...EVIL, CHECK_SSL_VALIDITY: 'false', CHROME_SANDBOX: 'false' })) {
      const page = lines({ type: 'Snapshot', url: url(1), settings: { [name]: value } })
      await refusal(home, [kind, 'create', '-'], 2, new RegExp(`^error: settings of .*: ${name}\\b`, 'i'), page)
    }
    expect(await home.value('select count(*)::int from crawl')).toBe(0)
    expect(existsSync(join(home.dataDir, TRUSTED_FILE))).toBe(false)
  })
})

describe('what a program is told', () => {
  it('comes from the command line, and from no row, whoever wrote it', async () => {
    const env = Object.fromEntries(Object.entries(EVIL).map(([name, value]) => [name, { value, source: 'crawl' }]))
    const record = { type: 'Crawl', urls: [url(1)], settings: env, config: { env: EVIL, plugins: ['dump'] } }
    const page = { type: 'Snapshot', url: url(2), settings: EVIL }
    const [copied] = await records(home, ['crawl', 'create', '--plugins', 'dump', '-'], lines(record))
    const piped = await home.run(['run', '-'], { input: lines(page, { ...record, settings: EVIL }), env: ENV })
    expect(piped.code, piped.stderr).toBe(0)
    const asked = piped.stdout.split('\n').flatMap((line) => (line ? [(JSON.parse(line) as { id: string }).id] : []))
    expect(asked).toHaveLength(2)

    const own = { DUMP_ARGS: '["mine"]', HTTPS_PROXY: 'http://proxy.example' }
    const given = Object.entries(own).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const mine = await home.add('--plugins', 'dump', ...given, url(1), url(2))
    const pages = await records(home, ['snapshot', 'create', '--crawl-id', mine, '-c', 'DUMP_ARGS=["page"]', url(3)])
    expect(pages).toMatchObject([{ settings: { DUMP_ARGS: { value: '["page"]' } } }])
    const [schedule] = await records(home, [
      'schedule',
      'add',
      '--every',
      'year',
      '--plugins',
      'dump',
      ...given,
      url(4),
    ])
    await records(home, ['schedule', 'run', schedule!.id])
    const due = await home.value<string>('select id from crawl where schedule_id = $1', [schedule!.id])

    const forged = await home.add('--plugins', 'dump', url(1), url(2))
    await home.query('update crawl set config = config || $2 where id = $1', [
      forged,
      { env: { ...EVIL, DUMP_FLAG: 'yes' }, frozen: { DUMP_ARGS: { value: '["evil"]', source: 'persona' } } },
    ])
    await home.query('update crawl set config = config || $2 where id = $1', [
      mine,
      { env: { ...own, WGET_BINARY: '/evil', PATH: '/evil' } },
    ])
    await home.query('update snapshot set settings = settings || $2 where crawl_id = $1', [mine, { LANG: 'evil' }])

    const { code, stderr } = await home.run(['run', '--exit-on-idle'], { env: ENV })
    expect(code, stderr).toBe(0)
    for (const crawl of [copied!.id, ...asked, mine, due, forged])
      for (const text of Object.values(await told(crawl))) expect(text).not.toMatch(/evil|not for a page/)
    for (const text of Object.values(await told(forged))) expect(text).toContain('\nDUMP_FLAG=yes\n')
    const mineNow = await told(mine)
    for (const text of [mineNow[url(1)], mineNow[url(2)], (await told(due))[url(4)]]) {
      expect(text).toContain('\nDUMP_ARGS=["mine"]\n')
      expect(text).toContain('\nHTTPS_PROXY=http://proxy.example\n')
    }
    expect(mineNow[url(3)]).toContain('\nDUMP_ARGS=["page"]\n')
    for (const name of ['DUMP_ARGS', 'WGET_BINARY', 'PATH', 'HOME', 'ABX_PLUGINS_DIR', 'USER_AGENT', 'COOKIES_FILE'])
      expect(stderr.match(new RegExp(`crawl ${forged}: ${name} is `, 'g')), name).toHaveLength(1)
    expect(stderr).toMatch(new RegExp(`page ${url(3)}: LANG is in a row, but was never set`))
    expect(stderr).not.toMatch(/DUMP_FLAG is/)
  })
})

it('a crawl ends whatever another hand has written as its configuration', async () => {
  const refused = ['null', '[]', '"dump"', '7', '{"plugins": 5}', '{"plugins": "dump"}', '{"url_allowlist": 5}']
  for (const config of [...refused, '{"url_denylist": ["x"]}'])
    await expect(home.query('update crawl set config = $1', [config]), config).rejects.toThrow('crawl_config_check')
  const taken = ['{"plugins": [null, {}, "dump"]}', '{"plugins": ["dump"], "env": 5, "frozen": [null]}']
  for (const config of taken) {
    const crawl = await home.add('--plugins', 'dump', url(1))
    await home.query('update crawl set config = $1 where id = $2', [config, crawl])
  }
  const { code, stderr } = await home.run(['run', '--exit-on-idle'])
  expect(code, stderr).toBe(0)
  expect(await home.query("select config from crawl where status <> 'sealed'")).toEqual([])
})

it('the log of a process is shown from the data dir alone', async () => {
  const secret = join(home.dataDir, '..', 'secret.txt')
  writeFileSync(secret, 'hush')
  try {
    const id = await home.value<string>("select id from process where process_type = 'hook' limit 1")
    await home.query("update process set stdout_log = '../secret.txt' where id = $1", [id])
    await refusal(home, ['process', 'logs', id], 1, /it has no log in this data dir: \.\.\/secret\.txt/)
  } finally {
    rmSync(secret)
  }
})

const WRONG = [
  '/etc',
  '../../home/me',
  'archive',
  'archive/',
  'archive//x',
  'archive/../x',
  'archive/x/..',
  'archive/.',
]
const MORE_WRONG = ['archive/a\nb', 'archive/a\x7f', 'elsewhere/x', './archive/x', 'archive/x/', '']

describe('the folder of a row', () => {
  it.each([['crawl'], ['snapshot']])('lies in archive/: that of a %s is refused elsewhere', async (table) => {
    for (const folder of [...WRONG, ...MORE_WRONG])
      await expect(home.query(`update ${table} set output_dir = $1`, [folder]), folder).rejects.toThrow(
        `${table}_output_dir_check`,
      )
    for (const folder of ['archive/x', 'archive/..x/x../...', 'archive/ü/a b'])
      await home.query(`update ${table} set output_dir = $1 where false or id is null and output_dir = $1`, [folder])
  })

  it('that another hand put elsewhere is a new one after an upgrade, and which it was is said', async () => {
    const before = migrations().flatMap(({ version }) => (version < 38 ? [version] : []))
    const old = await databases.make(
      ...schemaOf(before),
      `insert into crawl (id, urls, output_dir, message)
        values (gen_random_uuid(), 'http://x/', '../../evil', 'mine'), (gen_random_uuid(), 'http://y/', 'archive/y', '')`,
      `insert into crawl (id, urls, output_dir, config) values (gen_random_uuid(), 'http://z/', 'archive/z', '["junk"]')`,
      `update crawl set config = '{"env": {"WGET_ARGS": "[\\"mine\\"]", "TIMEOUT": "7", "PATH": "/x", "odd": 1}}'
        where urls = 'http://y/'`,
      `insert into snapshot (id, crawl_id, url, url_hash, output_dir, status, retry_at)
        select gen_random_uuid(), id, urls, '', replace(output_dir, '../..', ''), 'sealed', null from crawl`,
    )
    const dataDir = newFolder()
    try {
      const { code, stderr } = await program(['init'], { env: { DATA_DIR: dataDir, DATABASE_URL: old.url } })
      expect(code, stderr).toBe(0)
      // Who used it before has set what its crawls were told, as far as a crawl may be told it.
      const told = { WGET_ARGS: '["mine"]', PATH: '/x' }
      expect(Object.entries(told).map((setting) => isTrusted(dataDir, ...setting))).toEqual([true, false])
      expect(
        await old.query(`select c.urls, replace(c.output_dir, c.id::text, 'ID') as crawl, c.message,
          replace(s.output_dir, s.id::text, 'ID') as page, s.notes from crawl c join snapshot s on s.crawl_id = c.id
          order by 1`),
      ).toEqual([
        {
          ...{ urls: 'http://x/', crawl: 'archive/crawls/elsewhere/ID', message: 'mine; its folder was ../../evil' },
          ...{ page: 'archive/snapshots/elsewhere/ID', notes: 'its folder was /evil' },
        },
        { urls: 'http://y/', crawl: 'archive/y', message: '', page: 'archive/y', notes: null },
        {
          urls: 'http://z/',
          crawl: 'archive/z',
          message: 'its configuration was none',
          page: 'archive/z',
          notes: null,
        },
      ])
    } finally {
      rmSync(dataDir, { recursive: true, force: true })
    }
  })
})

describe('a backup', () => {
  let file: string
  let folder: string
  const ROWS = {
    crawls: 'select id, config, output_dir from crawl order by id',
    pages: 'select id, settings, output_dir from snapshot order by id',
    schedules: 'select id, crawl from schedule order by id',
    details: 'select crawl_id, part, details from crawl_detail order by 1, 2',
    programs: 'select id, name, abspath, status from "binary" order by id',
  }
  const rowsOf = async (of: TestHome) =>
    Object.fromEntries(
      await Promise.all(Object.entries(ROWS).map(async ([name, rows]) => [name, await of.query(rows)] as const)),
    )
  const restored = async (options: readonly string[] = [], prepare: (to: TestHome) => void = () => {}) => {
    const to = await homes.make()
    prepare(to)
    const { code, stdout, stderr } = await to.run(['restore', ...options, '--json', file])
    expect(code, stderr).toBe(0)
    return { to, stderr, record: JSON.parse(stdout) as { left_out: Record<string, unknown> } }
  }

  beforeAll(async () => {
    folder = newFolder()
    file = join(folder, 'rows.zst')
    await home.query(`insert into "binary" (id, machine_id, name, abspath, status, retry_at)
      select gen_random_uuid(), id, 'wget', '/evil', 'installed', null from machine limit 1`)
    await home.query("update schedule set crawl = jsonb_set(crawl, '{config,env,PATH}', '\"/evil\"')")
    const [listed] = await records(
      home,
      ['crawl', 'create', '-'],
      lines({ type: 'Snapshot', url: url(1), title: 'kept' }),
    )
    await home.query(
      `insert into crawl_detail values ($1, 0, E'{"title":"kept","settings":{"TIMEOUT":"7","WGET_ARGS":"evil"}}\n')
        on conflict (crawl_id, part) do update set details = excluded.details`,
      [listed!.id],
    )
    const { code, stderr } = await home.run(['backup', file])
    expect(code, stderr).toBe(0)
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('tells no program what to do, and what was left out is said', async () => {
    const { to, stderr, record } = await restored()
    const { programs, ...others } = await rowsOf(to)
    expect(JSON.stringify(others)).not.toMatch(/evil|mine|proxy/)
    expect(JSON.stringify(others)).toMatch(/"TIMEOUT.*:.*7.*title|kept.*TIMEOUT/)
    expect(programs).toEqual([])
    expect(stderr).toContain('left out: DUMP_ARGS=["mine"], of 3 rows\n')
    expect(stderr).toContain('left out: COOKIES_FILE=/evil, of 1 row\n')
    expect(stderr).toMatch(/left out: where \d+ programs? were: looked up again here/)
    expect(stderr).toContain('--trust-settings restores settings of programs, too: only for own backups')
    expect(record.left_out).toMatchObject({ folders: [], binaries: expect.any(Number) })
    expect(record.left_out['settings']).toContainEqual({ name: 'WGET_ARGS', value: 'evil', rows: 1 })
    expect(existsSync(join(to.dataDir, TRUSTED_FILE))).toBe(false)
  })

  it('keeps what was set in this data dir before', async () => {
    const { to, stderr } = await restored([], ({ dataDir }) => trust(dataDir, [['DUMP_ARGS', '["page"]']]))
    expect(await to.query('select distinct settings from snapshot where settings is not null')).toEqual([
      { settings: { DUMP_ARGS: '["page"]' } },
    ])
    expect(stderr).not.toContain('["page"]')
  })

  it('of one’s own is taken as it is with --trust-settings; what is for a machine alone still counts for nothing', async () => {
    const { to, stderr, record } = await restored(['--trust-settings'])
    expect(await rowsOf(to)).toEqual(await rowsOf(home))
    expect(stderr).not.toContain('left out')
    expect(record.left_out).toEqual({ settings: [], binaries: 0, folders: [] })
    const values = { DUMP_ARGS: '["mine"]', WGET_ARGS: 'evil', PATH: '/evil', TIMEOUT: '7' }
    const told = Object.entries(values).filter(([name, value]) => isTrusted(to.dataDir, name, value))
    expect(told.map(([name]) => name)).toEqual(['DUMP_ARGS', 'WGET_ARGS'])
  })

  it('puts no file outside archive/, trusted or not', async () => {
    await home.query('alter table snapshot drop constraint snapshot_output_dir_check')
    await home.query("update snapshot set output_dir = '../../evil' where url = $1", [url(4)])
    const page = await home.value<string>('select output_dir from snapshot where url = $1', [url(1)])
    await home.query("update crawl set output_dir = $1 || '/title/' || id", [page])
    await home.query('update snapshot set output_dir = $1 where url = $2', [page, url(2)])
    file = join(folder, 'folders.zst')
    expect((await home.run(['backup', file])).code).toBe(0)
    for (const options of [[], ['--trust-settings']]) {
      const { to, stderr } = await restored(options)
      expect(stderr).toContain('left out: the folder ../../evil of a row, which now has one in archive/')
      expect(stderr).toContain(`left out: the folder ${page} of a row, which`)
      expect(stderr).toContain(`left out: the folder ${page}/title/`)
      const folder = `regexp_replace(output_dir, '[0-9]{8}/127.0.0.1_[0-9]+', 'day/host')`
      for (const [table, kind] of Object.entries({ crawl: 'crawls', snapshot: 'snapshots' }))
        expect(
          await to.query(`select ${folder} as folder from ${table}
            where ${folder} not in ('archive/${kind}/day/host/' || id, 'archive/${kind}/elsewhere/' || id)`),
        ).toEqual([])
      await expect(to.query("update snapshot set output_dir = 'x'")).rejects.toThrow('snapshot_output_dir_check')
    }
  })
})
