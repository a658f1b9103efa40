import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { parseHTML } from 'linkedom'
import { expect, it } from 'vitest'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { processesOf } from '../../support/processes.ts'
import { eventually, type Running } from '../../support/program.ts'
import { askAt, serveHome } from '../../support/served.ts'
import { startSite } from '../../support/site.ts'

const noIpv6 = !Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))

// The server has a runner below itself, and one place: whatever dies, in whatever order.
const homes = useHomes()

interface Row extends Record<string, unknown> {
  readonly id: string
  readonly pid: number
  readonly parent_id: string | null
  readonly term: number | null
}

const LEADS = `
  select id, pid, parent_id, term::int from process where worker_type = 'worker_runner' and status = 'running'`
const leader = async (home: TestHome): Promise<Row | undefined> => (await home.query<Row>(LEADS))[0]
const serverRow = async (home: TestHome, pid: number) =>
  (await home.query<Row>(`select * from process where process_type = 'server' and pid = $1`, [pid]))[0]!

/** Waits for a leader other than that one. */
async function nextLeader(home: TestHome, than?: Row): Promise<Row> {
  await eventually(async () => ((await leader(home))?.id ?? than?.id) !== than?.id)
  return (await leader(home))!
}

async function ends(running: Running, home: TestHome): Promise<void> {
  running.signal('SIGTERM')
  expect((await running.finished()).code).toBe(0)
  await eventually(() => processesOf(home.dataDir).length === 0)
}

/** A port that nobody has, for two servers at one address. */
async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}

it('a runner leads below a server, is started again when it dies, and ends with it', async () => {
  const home = await homes.make()
  const server = await serveHome(home, '--listen', '127.0.0.1:0')
  const first = await nextLeader(home)
  const row = await serverRow(home, server.running.pid)
  expect([first.parent_id, row['url'], row['status']]).toEqual([row.id, server.origin, 'running'])
  await eventually(async () => (await server.ask('/readyz')).status === 200)
  process.kill(first.pid, 'SIGKILL')
  const second = await nextLeader(home, first)
  expect(second.parent_id).toBe(row.id)
  expect(server.running.stderr).toContain('the runner ended (SIGKILL): restarting it in 1 s')
  const { stdout } = await home.run(['status', '--json'])
  expect((JSON.parse(stdout) as { servers: unknown[] }).servers).toEqual([
    expect.objectContaining({ process_id: row.id, url: server.origin }),
  ])
  await ends(server.running, home)
  expect(await home.value(`select count(*)::int from process where status = 'running'`)).toBe(0)
})

it('--no-runner starts none', async () => {
  const home = await homes.make()
  const server = await serveHome(home)
  expect((await server.ask('/readyz')).text).toBe('no runner leads\n')
  expect(await home.value(`select count(*)::int from process where process_type = 'orchestrator'`)).toBe(0)
  await ends(server.running, home)
})

it('a server that is killed leaves no runner behind', async () => {
  const home = await homes.make()
  const server = await serveHome(home, '--listen', '127.0.0.1:0')
  await nextLeader(home)
  server.running.signal('SIGKILL')
  await server.running.finished()
  await eventually(() => processesOf(home.dataDir).length === 0)
  const next = await serveHome(home, '--listen', '127.0.0.1:0')
  await nextLeader(home)
  await ends(next.running, home)
})

it('a runner that leads already goes on, and the server has one when it is gone', async () => {
  const home = await homes.make()
  const runner = home.start(['run'])
  const first = await nextLeader(home)
  const server = await serveHome(home, '--listen', '127.0.0.1:0')
  await eventually(
    async () => (await home.value(`select count(*)::int from process where standby and status = 'running'`)) === 1,
  )
  expect((await leader(home))?.id).toBe(first.id)
  runner.signal('SIGTERM')
  expect((await runner.finished()).code).toBe(0)
  const second = await nextLeader(home, first)
  expect(second.parent_id).toBe((await serverRow(home, server.running.pid)).id)
  await ends(server.running, home)
})

it('an `add --run` borrows the lead, and gives it back', async () => {
  const home = await homes.make()
  const site = await startSite(1)
  try {
    const server = await serveHome(home, '--listen', '127.0.0.1:0')
    const first = await nextLeader(home)
    const added = await home.run(['add', '--run', '--plugins', 'headers', site.url])
    expect(added.code, added.stderr).toBe(0)
    await eventually(async () => (await leader(home))?.id === first.id)
    const back = (await leader(home))!
    expect(back.term).toBeGreaterThan(first.term!)
    expect(await home.value('select max(term)::int from process')).toBe(back.term)
    // Three leads of two processes, and one that is not over.
    const leads = await home.query<{ term: number; process_id: string; leads: boolean; gap_ms: string }>(
      'select term::int, process_id, ended_at is null as leads, gap_ms from lead order by term',
    )
    expect(leads.map(({ term, process_id: id, leads }) => [term, id === first.id, leads])).toEqual([
      [1, true, false],
      [2, false, false],
      [3, true, true],
    ])
    const shown = parseHTML((await server.ask('/live')).text).document
    const rows = [...shown.querySelectorAll('#leads tbody tr')].map((row) => row.textContent)
    expect(rows.map((row) => /leads|gone/.exec(row)?.[0])).toEqual(['leads', undefined, undefined])
    await ends(server.running, home)
  } finally {
    await site.close()
  }
})

it('a newer server takes port and runner; who asks meanwhile is answered, and who is logged in stays so', async () => {
  const home = await homes.make()
  const port = await freePort()
  const older = await serveHome(home, '--listen', `127.0.0.1:${port}`)
  const first = await nextLeader(home)
  const asked = new AbortController()
  const answers: number[] = []
  const asking = (async () => {
    while (!asked.signal.aborted) {
      answers.push(
        await askAt(port, older.host, '/healthz').then(
          ({ status }) => status,
          () => 0,
        ),
      )
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  })()
  const newer = await serveHome(home, '--listen', `127.0.0.1:${port}`)
  const { code, stderr } = await older.running.finished()
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining(`a newer server (pid ${newer.running.pid}) has taken over`),
  ])
  const second = await nextLeader(home, first)
  expect(second.parent_id).toBe((await serverRow(home, newer.running.pid)).id)
  await eventually(() => answers.length > 50)
  asked.abort()
  await asking
  // Refused or reset for a second at most: of those asked each 10 ms, not a hundred one after the other.
  expect(Math.max(...answers.map((_answer, at) => answers.slice(at).indexOf(200)))).toBeLessThan(100)
  expect((await newer.ask('/', { headers: { Cookie: older.cookie } })).status).toBe(200)
  expect((await home.run(['server', 'link'])).stdout).toMatch(new RegExp(`^${newer.origin}/login#\\w{25}\n$`))
  await ends(newer.running, home)
})

it('of servers that begin at once at one address the newest stays', async () => {
  const home = await homes.make()
  const port = await freePort()
  const args = ['server', '--listen', `127.0.0.1:${port}`, '--no-runner']
  const all = [home.start(args), home.start(args), home.start(args)]
  await eventually(() => all.filter(({ isOver }) => isOver).length === 2)
  // Those that were in time have left for it; one that was late has found the port taken by a newer one.
  const left = all.filter(({ isOver }) => isOver)
  for (const each of left) expect([0, 2]).toContain((await each.finished()).code)
  const [stays] = all.filter(({ isOver }) => !isOver)
  expect((await askAt(port, `127.0.0.1:${port}`, '/')).status).toBe(307)
  await ends(stays!, home)
})

it('two servers at two addresses live side by side; the newer has the runner, and the older again after it', async () => {
  const home = await homes.make()
  const older = await serveHome(home, '--listen', '127.0.0.1:0')
  const first = await nextLeader(home)
  const newer = await serveHome(home, '--listen', '127.0.0.1:0')
  const second = await nextLeader(home, first)
  expect(second.parent_id).toBe((await serverRow(home, newer.running.pid)).id)
  for (const server of [older, newer]) expect((await server.ask('/')).status).toBe(200)
  newer.running.signal('SIGTERM')
  expect((await newer.running.finished()).code).toBe(0)
  expect((await nextLeader(home, second)).id).toBe(first.id)
  await ends(older.running, home)
})

it('a port that somebody else has is named, with who has it and another one', async () => {
  const home = await homes.make()
  const port = await freePort()
  const stranger = createServer().listen(port, '127.0.0.1')
  await once(stranger, 'listening')
  const { code, stderr } = await home.run(['server', '--listen', `127.0.0.1:${port}`])
  expect(code).toBe(2)
  expect(stderr).toContain(`port ${port} of 127.0.0.1 is taken: pid ${process.pid} (`)
  expect(stderr).toContain(`--listen 127.0.0.1:${port + 1} uses another one`)
  // Copies move on to another port.
  const server = await serveHome(home, '--listen', `127.0.0.1:${port - 1}`).catch(() => undefined)
  if (server) {
    const policy = String((await server.ask('/')).headers['content-security-policy'])
    expect(policy).toMatch(/frame-src http:\/\/\*\.localhost:\d+/)
    expect(policy).not.toContain(`localhost:${port};`)
    await ends(server.running, home)
  }
  stranger.close()
  await once(stranger, 'close')
  expect(await home.value('select count(*)::int from web_session')).toBeLessThan(2)
})

it.skipIf(noIpv6)('it has both addresses of loopback: nobody else gets what a browser sends to the other', async () => {
  const home = await homes.make()
  const port = await freePort()
  const server = await serveHome(home, '--listen', `127.0.0.1:${port}`, '--no-runner')
  const at = async (host: string) => {
    const socket = connect(port, host)
    socket.end(`GET /healthz HTTP/1.1\r\nHost: ${server.host}\r\nConnection: close\r\n\r\n`)
    let text = ''
    for await (const part of socket) text += String(part)
    return text.slice(0, 12)
  }
  expect([await at('127.0.0.1'), await at('::1')]).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200'])
  await ends(server.running, home)
  const stranger = createServer().listen(port, '::1')
  await once(stranger, 'listening')
  const { code, stderr } = await home.run(['server', '--listen', `127.0.0.1:${port}`, '--no-runner'])
  expect([code, stderr]).toEqual([2, expect.stringContaining(`port ${port} of 127.0.0.1 is taken: pid ${process.pid}`)])
  const other = await home.run(['server', '--listen', `[::1]:${port}`, '--no-runner'])
  expect([other.code, other.stderr]).toEqual([2, expect.stringContaining('is taken')])
  stranger.close()
  await once(stranger, 'close')
})

it.each([
  ['0.0.0.0:8000', 'others could reach it there'],
  ['192.0.2.1:8000', 'others could reach it there'],
  ['example.com:8000', 'others could reach it there'],
  ['127.0.0.1', 'it takes HOST:PORT'],
  ['127.0.0.1:99999', 'it takes HOST:PORT'],
  ['here', 'it takes HOST:PORT'],
  ['[::1:8000', 'it takes HOST:PORT'],
  ['::1:8000', 'it takes HOST:PORT'],
])('--listen %s is refused in a line: %s', async (listen, why) => {
  const home = await homes.make()
  const { code, stderr } = await home.run(['server', '--listen', listen])
  expect([code, stderr.split('\n')[0]]).toEqual([2, expect.stringContaining(why)])
  expect(await home.value('select count(*)::int from login_code')).toBe(0)
})

it.each([
  ['http://archive.example.org', undefined, 'without TLS'],
  ['https://archive.example.org', undefined, 'copies need a separate host'],
  ['https://archive.example.org', 'https://archive.example.org', 'copies must not share the app'],
  ['https://archive.example.org', 'https://archive.example.org:8443', 'copies must not share the app'],
  ['https://archive.example.org', 'https://*.example.org', 'copies must not share the app'],
  ['https://archive.example.org', 'http://copies.example.org', 'copies need it, too'],
  ['https://archive.example.org/path', undefined, 'PUBLIC_URL'],
  ['https://archive.example.org', 'https://a.*.example.org', 'CONTENT_URL'],
])('PUBLIC_URL=%s CONTENT_URL=%s is refused: %s', async (app, content, why) => {
  const home = await homes.make()
  const env = { PUBLIC_URL: app, ...(content && { CONTENT_URL: content }) }
  const { code, stderr } = await home.run(['server', '--listen', '127.0.0.1:0'], { env })
  expect([code, stderr]).toEqual([2, expect.stringContaining(why)])
})

it('behind a proxy it has the names that the proxy makes known, and no other', async () => {
  const home = await homes.make()
  const port = await freePort()
  const env = { PUBLIC_URL: 'https://archive.example.org', CONTENT_URL: 'https://*.copies.example.org' }
  const running = home.start(['server', '--listen', `127.0.0.1:${port}`, '--no-runner'], { env })
  await eventually(() => running.stderr.includes('https://archive.example.org/login#') || running.isOver)
  const { status, headers } = await askAt(port, 'archive.example.org', '/')
  expect([status, headers['content-security-policy']]).toEqual([
    401,
    expect.stringContaining('frame-src https://*.copies.example.org;'),
  ])
  const code = /login#(\w+)/.exec(running.stderr)![1]!
  const login = await askAt(port, 'archive.example.org', '/login', {
    method: 'POST',
    headers: { Origin: 'https://archive.example.org', 'Content-Type': 'application/x-www-form-urlencoded' },
    body: `code=${code}`,
  })
  expect(login.headers['set-cookie']?.[0]).toMatch(/^__Host-abx_[0-9a-f]{8}=.*; Secure$/)
  expect((await askAt(port, `127.0.0.1:${port}`, '/')).headers.location).toBe('https://archive.example.org/')
  expect((await askAt(port, 'copies.example.org', '/')).status).toBe(421)
  await ends(running, home)
})

it('sockets that say nothing, and many of them, keep nobody from an answer', async () => {
  const home = await homes.make()
  const server = await serveHome(home)
  const sockets: Socket[] = []
  for (let count = 0; count < 2_000; count += 1) sockets.push(connect(server.port, '127.0.0.1').on('error', () => {}))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  expect((await server.ask('/')).status).toBe(200)
  await ends(server.running, home)
  for (const socket of sockets) socket.destroy()
})

it('a database that goes away is said, and comes back by itself', async () => {
  const home = await homes.make()
  const server = await serveHome(home)
  await home.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'archivebox-ts server'`,
  )
  await eventually(async () => (await server.ask('/')).status === 200)
  await ends(server.running, home)
})

it('with --json the one-time link goes to the terminal, and into no log file', async () => {
  const home = await homes.make()
  const server = await serveHome(home, '--no-runner', '--json')
  const code = /login#(\w+)/.exec(server.running.stderr)![1]!
  const log = readFileSync(join(home.dataDir, 'logs', 'server.log'), { encoding: 'utf8', flag: 'a+' })
  expect(log).not.toContain(code)
  await ends(server.running, home)
})
