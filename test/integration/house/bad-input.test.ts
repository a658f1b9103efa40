import { chownSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { newFolder, type TestHome, useHomes } from '../../support/homes.ts'
import { noOtherUser } from '../../support/other-user.ts'
import { type Call, type Finished, program } from '../../support/program.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site
let folder: string

beforeAll(async () => {
  site = await startSite(pages(3))
  folder = newFolder()
})
afterEach(() => {
  rmSync(join(folder, 'data'), { recursive: true, force: true })
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await site.close()
})

/**
 * A refusal as people should see it: the exit code, one line that says what is wrong, at most a hint, and no stack
 * trace.
 */
function expectRefusal(finished: Finished, code: number, reason: RegExp): void {
  expect(finished.code, finished.stderr).toBe(code)
  expect(finished.stdout).toBe('')
  expect(finished.stderr).not.toMatch(/^\s+at /m)
  const lines = finished.stderr.trim().split('\n')
  expect(
    lines.filter((line) => line.startsWith('error: ')),
    finished.stderr,
  ).toHaveLength(1)
  expect(lines.length, finished.stderr).toBeLessThanOrEqual(3)
  expect(lines.find((line) => line.startsWith('error: '))).toMatch(reason)
}

describe('a data dir', () => {
  const inFolder = (args: readonly string[], name = 'data', call: Call = {}) =>
    program(args, { ...call, env: { DATA_DIR: join(folder, name), ...call.env } })

  it.each(['status', 'process list', 'process tree', 'db url', 'db status', 'db start', 'db stop'])(
    'that is none is refused by %s',
    async (verb) => {
      expectRefusal(await inFolder(verb.split(' ')), 2, /is not a data dir/)
      expect(readdirSync(folder)).toEqual([])
    },
  )

  it.each(['init', 'add http://127.0.0.1:1/', 'run --exit-on-idle'])(
    'is not made in a folder with other things by %s',
    async (verb) => {
      mkdirSync(join(folder, 'data'))
      writeFileSync(join(folder, 'data', 'thesis.txt'), 'mine')
      expectRefusal(await inFolder(verb.split(' ')), 2, /is not empty.*thesis\.txt/)
      expect(readdirSync(join(folder, 'data'))).toEqual(['thesis.txt'])
    },
  )

  it('is not made in place of a file', async () => {
    writeFileSync(join(folder, 'data'), '')
    expectRefusal(await inFolder(['add', 'http://127.0.0.1:1/']), 2, /is not a directory/)
  })

  it.skipIf(noOtherUser)(`that may not be written is refused ${noOtherUser || ''}`, async () => {
    mkdirSync(join(folder, 'data'), { mode: 0o755 })
    expectRefusal(await inFolder(['add', 'http://127.0.0.1:1/'], 'data', { uid: 65534 }), 2, /EACCES|not writable/)
    writeFileSync(join(folder, 'data', 'archivebox.toml'), '')
    expectRefusal(await inFolder(['run', '--exit-on-idle'], 'data', { uid: 65534 }), 2, /is not writable/)
    expectRefusal(await inFolder(['init'], 'data/below', { uid: 65534 }), 2, /EACCES|not writable/)
  })

  it.skipIf(noOtherUser)(`with a folder that somebody else made is not worked on ${noOtherUser || ''}`, async () => {
    mkdirSync(join(folder, 'data'))
    chownSync(join(folder, 'data'), 65534, 65534)
    const nobody = { uid: 65534 }
    expect((await inFolder(['init'], 'data', nobody)).code).toBe(0)
    expect((await inFolder(['add', 'http://127.0.0.1:1/'], 'data', nobody)).code).toBe(0)
    chownSync(join(folder, 'data', 'archive'), 0, 0)
    for (const verb of ['run', 'server']) {
      const refused = await inFolder([verb], 'data', nobody)
      expectRefusal(refused, 2, /\/archive cannot be written/)
      expect(refused.stderr).toMatch(/hint: +as root: chown -R 65534 \S+\/data/)
    }
    chownSync(join(folder, 'data', 'archive'), 65534, 65534)
    mkdirSync(join(folder, 'data', 'archive', 'crawls', '20260101'), { recursive: true })
    for (const name of ['.runner.lock', 'index.html']) writeFileSync(join(folder, 'data', name), '', { mode: 0o600 })
    const left = /\/\.runner\.lock, \S+\/index\.html, \S+\/crawls cannot be written/
    expectRefusal(await inFolder(['run'], 'data', nobody), 2, left)
    expect((await inFolder(['status'], 'data', nobody)).stdout).toMatch(/"queued":1/)
  })

  it('whose archivebox.toml is not TOML is refused, with the place', async () => {
    mkdirSync(join(folder, 'data'))
    writeFileSync(join(folder, 'data', 'archivebox.toml'), 'TIMEOUT = 5\nthis is not TOML\n')
    for (const args of [['add', 'http://127.0.0.1:1/'], ['run'], ['status']]) {
      const { code, stderr } = await inFolder(args)
      expect(code, stderr).toBe(2)
      expect(stderr).toMatch(/error: .*archivebox\.toml is not valid TOML/)
      expect(stderr).not.toMatch(/^\s+at /m)
    }
  })
})

describe('DATABASE_URL', () => {
  const withUrl = (url: string, env: Readonly<Record<string, string>> = {}) =>
    program(['add', 'http://127.0.0.1:1/'], { env: { DATA_DIR: join(folder, 'data'), DATABASE_URL: url, ...env } })
  const impatient = { WAIT_DB: '0' }

  it('of a server that is not there ends with 1, since it may be there the next time', async () => {
    expectRefusal(
      await withUrl('postgres://somebody:secret@127.0.0.1:1/archive', impatient),
      1,
      /cannot reach the database/,
    )
    expectRefusal(
      await withUrl('postgres://somebody@%2Fnot%2Fthere/archive', impatient),
      1,
      /cannot reach the database/,
    )
  })

  it('is never shown with its password', async () => {
    const { stderr } = await withUrl('postgres://somebody:secret@127.0.0.1:1/archive', impatient)
    expect(stderr).not.toContain('secret')
    expect(stderr).toContain('somebody')
  })

  it('of a database that is not there is refused', async () => {
    expectRefusal(
      await withUrl(homes.serverUrl.replace('/archivebox?', '/elsewhere?')),
      2,
      /"elsewhere" does not exist/,
    )
  })

  it('of a user who is not there is refused', async () => {
    expectRefusal(await withUrl(homes.serverUrl.replace('//archivebox@', '//stranger@')), 2, /stranger/)
  })

  it('that is no URL is refused', async () => {
    for (const url of ['garbage', 'http://127.0.0.1:1/', 'postgres://', 'postgres://127.0.0.1:99999/x'])
      expectRefusal(await withUrl(url), 2, /database/)
  })

  it('of something that is not PostgreSQL is refused', async () => {
    const server = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    try {
      expectRefusal(await withUrl(`postgres://somebody@127.0.0.1:${port}/archive`), 2, /database/)
    } finally {
      server.close()
    }
  })
})

describe('a command line', () => {
  let home: TestHome
  const refused = async (args: readonly string[], reason: RegExp) => {
    const finished = await home.run(args)
    expect(finished.code, finished.stderr).toBe(2)
    expect(finished.stderr).toMatch(reason)
    expect(finished.stderr).not.toMatch(/^\s+at /m)
    expect(finished.stdout).toBe('')
    expect(await home.value('select count(*) from crawl')).toBe('0')
  }

  it('with bad words is refused with exit code 2 and nothing written', async () => {
    home = await homes.make()
    const url = `${site.url}/`
    await refused(['add'], /error: no URL given/)
    await refused(['add', '-'], /error: no URL given/)
    await refused(['add', 'ftp://127.0.0.1/file'], /error: only http and https/)
    await refused(['add', 'javascript:alert(1)'], /error: only http and https/)
    await refused(['add', 'not a url'], /error: not a URL: not a url/)
    await refused(['add', `http://127.0.0.1/${'x'.repeat(10_000)}`], /error: URL longer than/)
    await refused(['add', '--file', '/not/there', url], /error: cannot read \/not\/there/)
    for (const depth of ['5', '-1', '1.5', 'one', ''])
      await refused(['add', `--depth=${depth}`, url], /--depth takes a whole number from 0 to 4/)
    await refused(['add', '--max-urls', 'many', url], /--max-urls takes a whole number/)
    for (const none of ['', ', ,']) await refused(['add', '--plugins', none, url], /--plugins takes names, comma-sep/)
    for (const tag of ['a\u0007b', 'x'.repeat(101)])
      await refused(['add', '--tag', `ok,${tag}`, url], /cannot be a tag/)
    await refused(['add', '--demo', url], /--demo archives a small site of its own/)
    await refused(['add', '--demo', '--file', 'a.txt'], /--demo archives a small site of its own/)
    await refused(['add', '-c', 'TIMEOUT', url], /-c takes KEY=VALUE/)
    await refused(['add', '--no-such-option', url], /unknown option '--no-such-option'/)
    await refused(['add', '--depth'], /argument missing/)
    await refused(['archive', url], /unknown command 'archive'/)
    await refused(['process', 'explode'], /unknown command 'explode'/)
    await refused(
      ['process', 'list', '--status', 'nonsense'],
      /'nonsense' is invalid. Allowed choices are starting, running/,
    )
    await refused(['process', 'list', '--type', 'nonsense'], /Allowed choices are orchestrator, worker/)
    await refused(['run', '--crawl-id', 'x'], /not an id: x/)
    await refused(['run', '--crawl-id', '01994f6e-0c1a-7c3e-9d55-0123456789ab'], /there is no crawl/)
  })

  it('without a verb shows help', async () => {
    const { stdout, stderr } = await program([])
    expect(stdout + stderr).toContain('archivebox-ts add --run')
    const help = await program(['help', 'add'])
    expect(help.code).toBe(0)
    expect(help.stdout).toContain('--depth')
  })
})
