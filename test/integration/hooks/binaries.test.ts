import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, resultsOf } from '../../support/archive.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { noOtherUser } from '../../support/other-user.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(1)
})
afterAll(() => site.close())

/** A home with a plugin that needs `abx-test-tool` 1.10 or newer, and a folder on PATH where that may lie. */
async function newHome(): Promise<{ home: TestHome; bin: string; tool: string; env: Record<string, string> }> {
  const home = await homes.make()
  home.install('needs_program')
  const bin = join(home.dataDir, 'bin')
  mkdirSync(bin)
  return { home, bin, tool: join(bin, 'abx-test-tool'), env: { PATH: `${bin}:${process.env['PATH']}` } }
}

function putTool(file: string, version = '2.3.1'): string {
  const text = `#!/bin/sh\necho "abx-test-tool (GNU) ${version}, made for tests"\n`
  writeFileSync(file, text, { mode: 0o755 })
  return createHash('sha256').update(text).digest('hex')
}

const add = (home: TestHome, ...args: string[]) =>
  home.add('--plugins', 'needs_program', ...args, `${site.url}/page-1.html`)

async function run(home: TestHome, env: Record<string, string>, ...args: string[]): Promise<void> {
  const { code, stderr } = await home.run(['run', '--exit-on-idle', ...args], { env })
  expect(code, stderr).toBe(0)
}

/** The last attempt of the crawl's one hook. */
async function outcome(home: TestHome, crawl: string): Promise<string> {
  const last = (await resultsOf(home, crawl)).toSorted((a, b) => a.attempt - b.attempt).at(-1)!
  return `${last.status}: ${last.output_str}`
}

async function told(home: TestHome, crawl: string): Promise<string> {
  const dir = await home.value<string>('select output_dir from snapshot where crawl_id = $1', [crawl])
  return readFileSync(join(home.dataDir, dir, 'needs_program', 'tool.txt'), 'utf8').trim()
}

const status = async (home: TestHome) =>
  JSON.parse((await home.run(['status', '--json'])).stdout) as Record<string, Record<string, unknown>>
const MISSING = 'abx-test-tool not found: apt-get install abx-test-tool'

describe('a program that a plugin needs', () => {
  it('is looked up before the hooks, kept with path, version and sha256, and hooks are told where it is', async () => {
    const { home, tool, env } = await newHome()
    const sha256 = putTool(tool)
    const crawl = await add(home)
    await run(home, env)
    await expectComplete(home, crawl)
    expect(await told(home, crawl)).toBe(tool)
    expect(
      await home.query('select name, status, abspath, version, sha256, retry_at, attempts, claim_token from "binary"'),
    ).toEqual([
      {
        name: 'abx-test-tool',
        status: 'installed',
        abspath: tool,
        version: '2.3.1',
        sha256,
        retry_at: null,
        attempts: 0,
        claim_token: null,
      },
    ])
    expect(await home.query("select from_status, event, to_status from transition where model = 'binary'")).toEqual([
      { from_status: 'queued', event: 'install', to_status: 'installed' },
    ])
    const { queue, binaries } = await status(home)
    expect(queue!['binary']).toEqual({ queued: 0, installed: 1 })
    expect(binaries).toEqual([
      { name: 'abx-test-tool', status: 'installed', abspath: tool, version: '2.3.1', message: '', missed: false },
    ])
  })

  it('that is missing has its hooks skipped, with the command that installs it; it is looked for again in 5 minutes', async () => {
    const { home, env } = await newHome()
    const crawl = await add(home)
    await run(home, env)
    await expectComplete(home, crawl)
    expect(await outcome(home, crawl)).toBe(`skipped: ${MISSING}`)
    expect(await home.query("select id from process where process_type = 'hook' and url is not null")).toEqual([])
    const row = `select status, attempts, message, retry_at between now() + interval '4 min'
      and now() + interval '5 min' as later from "binary"`
    expect(await home.query(row)).toEqual([{ status: 'queued', attempts: 1, message: MISSING, later: true }])
    expect((await status(home))['queue']!['binary']).toEqual({ queued: 1, installed: 0 })
    expect((await home.run(['status', '--json'])).stdout).toContain(MISSING)

    // Where only some pages need it, hooks say themselves what these lack.
    const file = join(home.dataDir, 'plugins/needs_program/config.json')
    const config = JSON.parse(readFileSync(file, 'utf8')) as { required_binaries: object[] }
    config.required_binaries = config.required_binaries.map((one) => ({ ...one, needed_by: 'some pages' }))
    writeFileSync(file, JSON.stringify(config))
    const another = await add(home, '--again')
    await run(home, env)
    expect(await outcome(home, another)).not.toContain('skipped')
  })

  it('that was installed since is found at the next crawl, and a retry then works', async () => {
    const { home, tool, env } = await newHome()
    const crawl = await add(home)
    await run(home, env)
    putTool(tool)
    expect((await home.run(['crawl', 'retry', crawl])).code).toBe(0)
    await run(home, env)
    expect(await outcome(home, crawl)).toMatch(/^succeeded/)
    expect(await told(home, crawl)).toBe(tool)
  })

  it('that has gone is queued again, and not used', async () => {
    const { home, tool, env } = await newHome()
    putTool(tool)
    await add(home)
    await run(home, env)
    rmSync(tool)
    const crawl = await add(home)
    await run(home, env)
    expect(await outcome(home, crawl)).toBe(`skipped: ${MISSING}`)
    const events = await home.query<{ event: string }>(
      "select event from transition where model = 'binary' order by id",
    )
    expect(events.map(({ event }) => event)).toEqual(['install', 'gone'])
  })

  it('that is too old counts as missing', async () => {
    const { home, tool, env } = await newHome()
    putTool(tool, '1.9.99')
    const crawl = await add(home)
    await run(home, env)
    expect(await outcome(home, crawl)).toBe('skipped: abx-test-tool 1.9.99 is too old: 1.10 or newer is needed')
  })

  it.skipIf(noOtherUser)('is one that the account of hooks can start; if there is none, they are skipped', async () => {
    const { home, bin, tool, env } = await newHome()
    const [closed, later] = [join(bin, 'closed'), join(bin, 'a=b')]
    mkdirSync(closed, { mode: 0o700 })
    mkdirSync(later)
    symlinkSync('/bin/sh', join(closed, 'sh'))
    writeFileSync(tool, `#!${join(closed, 'sh')}\necho 2.3.1\n`, { mode: 0o755 })
    const path = `${bin}:${later}:${process.env['PATH']}`
    const ran = async () => {
      const crawl = await add(home, '--again')
      await run(home, { ...env, PATH: path, HOOK_USER: 'nobody' })
      return crawl
    }
    const why = `hooks run as user nobody, who cannot start ${tool}: install it for all users`
    expect(await outcome(home, await ran())).toBe(`skipped: ${why}`)
    // Whatever it says of itself, it was started.
    writeFileSync(join(later, 'abx-test-tool'), '#!/bin/sh\nabx-no-such-command\n', { mode: 0o755 })
    expect(await told(home, await ran())).toBe(join(later, 'abx-test-tool'))
    chmodSync(closed, 0o755)
    expect(await told(home, await ran())).toBe(tool)
  })

  it('is the one that the surroundings name', async () => {
    const { home, bin, env } = await newHome()
    const own = join(bin, 'my tool')
    putTool(own)
    const crawl = await add(home)
    await run(home, { ...env, TOOL_BINARY: own })
    expect(await told(home, crawl)).toBe(own)
    const nowhere = await add(home)
    await run(home, { ...env, TOOL_BINARY: '/no/such/tool' })
    expect(await outcome(home, nowhere)).toBe('skipped: /no/such/tool not found')
  })

  it('is not looked up with --exclude binary: hooks find out by themselves', async () => {
    const { home, env } = await newHome()
    const crawl = await add(home)
    await run(home, env, '--exclude', 'binary')
    expect(await home.query('select id from "binary"')).toEqual([])
    expect(await told(home, crawl)).toBe('abx-test-tool') // Its default.
  })

  it('is looked up once, however many crawls begin at the same time', async () => {
    const { home, tool, env } = await newHome()
    putTool(tool)
    const crawls = [await add(home), await add(home), await add(home)]
    await run(home, { ...env, MAX_CRAWL_WORKERS: '3' })
    for (const crawl of crawls) expect(await told(home, crawl)).toBe(tool)
    expect(await home.query("select id from transition where model = 'binary'")).toHaveLength(1)
  })

  it('without a name, or without anybody who may provide it, stays queued', async () => {
    const { home, env } = await newHome()
    const machine = await home.value<string>('select id from machine')
    await home.query(
      `insert into "binary" (id, machine_id, name, binproviders)
        values (gen_random_uuid(), $1, '', 'env'), (gen_random_uuid(), $1, 'sh', '')`,
      [machine],
    )
    await add(home)
    await run(home, env)
    const rows = await home.query(`select status, message, attempts from "binary" where name <> 'abx-test-tool'`)
    expect(rows).toEqual(Array(2).fill({ status: 'queued', message: 'no provider is allowed', attempts: 1 }))
  })
})

describe('a row of a program that we did not write', () => {
  it('is not run, and nothing is installed for it', async () => {
    const { home, tool, bin, env } = await newHome()
    home.install('apt')
    putTool(tool)
    const evil = join(bin, 'evil')
    writeFileSync(evil, `#!/bin/sh\necho "$@" >>'${bin}/ran'\necho 9.9.9\n`, { mode: 0o755 })
    await home.query(
      `insert into "binary" (id, machine_id, name, binproviders, abspath, version, status, retry_at)
        select gen_random_uuid(), m.id, made.* from machine m, (values
          ('abx-test-tool', 'env,apt', $1, '9.9.9', 'installed', null),
          ($1, 'env', '', '', 'queued', now()), ('evil-package', '*', '', '', 'queued', now()),
          ('evil-hint', 'env', $1, '', 'queued', now())
        ) as made (name, binproviders, abspath, version, status, retry_at)`,
      [evil],
    )
    const crawl = await add(home)
    await run(home, env)
    expect(await told(home, crawl)).toBe(tool)
    expect(existsSync(join(bin, 'ran'))).toBe(false)
    expect(existsSync(join(home.dataDir, 'provided.log'))).toBe(false)
    const others = await home.query(`select status, message from "binary" where name <> 'abx-test-tool'`)
    expect(others).toEqual(Array(3).fill({ status: 'queued', message: 'no plugin here has asked for it' }))
    // Another hand replaces what we found, while no crawl looks programs up.
    await home.query(`update "binary" set abspath = $1 where name = 'abx-test-tool'`, [evil])
    const next = await add(home)
    await run(home, env, '--exclude', 'binary')
    expect(await told(home, next)).toBe('abx-test-tool') // Its default.
  })
})

describe('a plugin that provides programs', () => {
  it('is asked for one that is missing, if it is among its providers, and hooks use what it installed', async () => {
    const { home, env } = await newHome()
    home.install('apt')
    const crawl = await add(home)
    await run(home, env)
    await expectComplete(home, crawl)
    const [row] = await home.query<{ id: string; abspath: string }>('select id, status, version, abspath from "binary"')
    expect(row).toMatchObject({
      status: 'installed',
      version: '5.0.1',
      abspath: join(home.dataDir, 'binaries', row!.id, 'apt', 'abx-test-tool'),
    })
    expect(await told(home, crawl)).toBe(row!.abspath)
    const asked = () => readFileSync(join(home.dataDir, 'provided.log'), 'utf8')
    expect(asked()).toBe('--name=abx-test-tool --binproviders=env,apt --min-version=1.10\n')
    const hooks =
      "select timeout, status, exit_code from process where process_type = 'hook' " +
      "and cmd::text like '%on_BinaryRequest%'"
    expect(await home.query(hooks)).toEqual([{ timeout: 600, status: 'exited', exit_code: 0 }])

    await add(home)
    await run(home, env)
    expect(asked().split('\n')).toHaveLength(2)
  })

  it('that fails leaves the program missing, and is asked again in 5 minutes, not at once', async () => {
    const { home, env } = await newHome()
    home.install('apt')
    for (let crawls = 0; crawls < 2; crawls += 1) {
      const crawl = await add(home)
      await run(home, { ...env, APT_BROKEN: 'yes' })
      expect(await outcome(home, crawl)).toBe(`skipped: ${MISSING}`)
    }
    expect(readFileSync(join(home.dataDir, 'provided.log'), 'utf8').trim().split('\n')).toHaveLength(1)
  })

  it('that is not among the providers of a program is not asked', async () => {
    const { home, env } = await newHome()
    home.install('apt')
    const file = join(home.dataDir, 'plugins', 'needs_program', 'config.json')
    const config = readFileSync(file, 'utf8')
    writeFileSync(file, config.replace('env,apt', 'env,brew'))
    // Its row may come from anybody: it does not say who installs a program.
    await home.query(
      `insert into "binary" (id, machine_id, name, binproviders)
        select gen_random_uuid(), id, 'abx-test-tool', 'env,apt' from machine`,
    )
    const crawl = await add(home)
    await run(home, env)
    expect(await outcome(home, crawl)).toMatch(/^skipped: abx-test-tool not found/)
    expect(existsSync(join(home.dataDir, 'provided.log'))).toBe(false)
  })
})

describe('a hook', () => {
  it('may ask for programs, and say where one is: they are queued, and looked up when the next crawl begins', async () => {
    const { home, bin, env } = await newHome()
    home.install('asks_for_programs')
    putTool(join(bin, 'known'), '9.9')
    const crawl = () => home.add('--plugins', 'asks_for_programs', `${site.url}/page-1.html`)
    await crawl()
    await run(home, env)
    const rows = async () =>
      await home.query('select name, status, abspath, version, binproviders, min_version from "binary" order by name')
    const asked = { name: 'abx-asked-tool', binproviders: 'env', min_version: '1.0' }
    const known = { name: 'abx-known-tool', binproviders: '*', min_version: '', abspath: join(bin, 'known') }
    expect(await rows()).toEqual([
      { ...asked, status: 'queued', abspath: '', version: '' },
      { ...known, status: 'queued', version: '' },
    ])
    putTool(join(bin, 'abx-asked-tool'), '1.0.1')
    await crawl()
    await run(home, env)
    expect(await rows()).toEqual([
      { ...asked, status: 'installed', abspath: join(bin, 'abx-asked-tool'), version: '1.0.1' },
      { ...known, status: 'installed', version: '9.9' },
    ])
  })
})

describe('status', () => {
  it('shows what was handled in the last hour, also when no runner is there any more; an idle runner adds nothing', async () => {
    const { home, env } = await newHome()
    await add(home)
    await run(home, env)
    const handled = async () => ((await status(home))['handled'] as { seconds: number; models: object }).models
    const models = await handled()
    expect(models).toEqual({
      archive_result: { skipped: 1 },
      crawl: { started: 1, sealed: 1 },
      snapshot: { started: 1, sealed: 1 },
    })
    await run(home, env, '--run-for', '1')
    expect(await handled()).toEqual(models)
    await home.query("update transition set at = at - interval '61 min'")
    expect(await handled()).toEqual({})
  })
})
