import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { sql } from 'kysely'
import { addUpCounts } from '../../src/db/counts.ts'
import type { Home } from '../../src/db/home.ts'
import { cpuBelow, postgresMs } from './cpu.ts'
import type { Figure } from './figures.ts'
import { withHome } from './home.ts'
import { makeLargeArchive } from './large-archive.ts'
import { cleanEnv, MAIN } from './program.ts'

const PAGES = 1_000_000
/** How often each address is asked for in a round. */
const ASKED = 60
/** And before that: a page is not looked at for the first time. */
const WARM = 10
const STREAMS = 1_000
const IDLE_MS = 10_000
const MOST_FIRST_BYTE_MS = 50
/** Pages that are sealed while a list is open. */
const SEALED = 10

/** What it takes to look at a million pages: first bytes, sizes, CPU and memory of the server, streams that wait. */
export async function server(rounds: number): Promise<Figure[]> {
  return await withHome(async (home) => {
    const { old, open } = await makeLargeArchive(home.db, PAGES)
    await addUpCounts(home.db)
    await sql`vacuum analyze`.execute(home.db)
    const { rows } = await sql<{ id: string }>`
      select id from snapshot where status = 'sealed' order by id desc limit 1 offset 500000`.execute(home.db)
    const middle = rows[0]!.id
    const paths: Readonly<Record<string, string>> = {
      'archive page': '/',
      thumbnails: '/?view=grid',
      'far back': `/?below=${middle}`,
      'of a host': '/?host=site-77.example',
      'that failed': '/?outcome=failed',
      'with a tag': '/?tag=few',
      'added by a day': '/?to=2100-01-01',
      'a part of a URL': '/?url=page-123456',
      'a part of a title': '/?q=page-123456',
      'a crawl of 200,000': `/crawls/${old}`,
      'a crawl at work': `/crawls/${open}`,
      'a page': `/snapshots/${middle}`,
      live: '/live',
      schedules: '/schedules',
      plugins: '/plugins',
      settings: '/settings',
      'API: snapshots': '/api/v1/snapshots?n=100',
    }
    const figures = new Map<string, number[]>()
    const note = (what: string, value: number) => figures.set(what, [...(figures.get(what) ?? []), value])
    const bare: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      const rival = await bareServer()
      bare.push(quantile(await firstBytes(rival.port, 'localhost', '/', ''), 0.95))
      rival.close()
      const web = await WebServer.start(home)
      note('start to first answer', web.startMs)
      for (const [name, path] of Object.entries(paths)) {
        for (let count = 0; count < WARM; count += 1) await ask(web.port, web.host, path, web.cookie)
        const cpu = web.cpuMs()
        const times = await firstBytes(web.port, web.host, path, web.cookie)
        note(`${name}: first byte, p95`, quantile(times, 0.95))
        if (name === 'archive page' || name === 'a page') note(`${name}: CPU a view`, (web.cpuMs() - cpu) / ASKED)
      }
      note('archive page: size', (await ask(web.port, web.host, '/', web.cookie)).bytes / 1024)
      note('memory of the server', web.memoryMb())
      for (let count = 0; count < SEALED; count += 1) note('a sealed page is seen', await seen(home, web))
      await idle(home, web, note)
      await web.end()
    }
    const target = (what: string, atMost: number) => ({ what, target: { atMost, of: 'value' as const } })
    const targets = [
      target('start to first answer', 400),
      target('archive page: CPU a view', 4),
      target('a page: CPU a view', 4),
      target('memory of the server', 150),
      target('a sealed page is seen', 500),
      target(`${STREAMS} idle streams: CPU of a core`, 2),
      target('nobody looks: CPU of a core', 0.5),
      target('archive page: size', 60),
      target('a part of a URL: first byte, p95', 1_000),
      target('a part of a title: first byte, p95', 1_000),
    ]
    return [...figures].map(([what, values]): Figure => {
      const unit = what.includes('of a core')
        ? '%'
        : what.startsWith('memory')
          ? 'MB'
          : what.endsWith('size')
            ? ''
            : 'ms'
      const isByte = what.endsWith('p95')
      const found = targets.find((each) => each.what === what)?.target
      return {
        bench: 'server',
        what: unit === '' ? `${what}, kB` : what,
        unit,
        values,
        ...(isByte && { rival: { name: 'node:http, one text', values: bare } }),
        target: found ?? { atMost: MOST_FIRST_BYTE_MS, of: 'value' },
      }
    })
  })
}

/** How long after a page was sealed an open list has it: the stream tells, and the list asks for itself, in ms. */
async function seen({ db }: Home, { port, host, cookie }: WebServer): Promise<number> {
  const listening = await stream(port, host, '/events?topics=archive', cookie, agent)
  let heard = ''
  listening.on('data', (part: Buffer) => (heard += String(part)))
  const told = async (times: number) => {
    while (heard.split('event: change').length <= times) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await told(1) // Nobody knows what was before.
  await sql`
    update snapshot set status = 'sealed', outcome = 'failed', cause = 'x', retry_at = null, status_changed_at = now()
    where id = (select id from snapshot where status = 'queued' limit 1)`.execute(db)
  const begun = performance.now()
  await told(2)
  await ask(port, host, '/', cookie)
  listening.destroy()
  return performance.now() - begun
}

/** What waiting streams cost, and what nobody costs: the server, and the database for it. */
async function idle(home: Home, web: WebServer, note: (what: string, value: number) => void): Promise<void> {
  const measured = async () => {
    const before = web.cpuMs() + postgresMs(home.dataDir)
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
    return (100 * (web.cpuMs() + postgresMs(home.dataDir) - before)) / IDLE_MS
  }
  note('nobody looks: CPU of a core', await measured())
  const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY })
  const streams = await Promise.all(
    Array.from(
      { length: STREAMS },
      async () => await stream(web.port, web.host, '/events?topics=archive', web.cookie, agent),
    ),
  )
  note(`${STREAMS} idle streams: CPU of a core`, await measured())
  for (const each of streams) each.destroy()
  agent.destroy()
}

async function stream(
  port: number,
  host: string,
  path: string,
  cookie: string,
  agent: Agent,
): Promise<IncomingMessage> {
  const asked = request({ host: '127.0.0.1', port, path, agent, headers: { Host: host, Cookie: cookie } }).end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  answer.on('error', () => {}).resume()
  return answer
}

async function firstBytes(port: number, host: string, path: string, cookie: string): Promise<number[]> {
  const times: number[] = []
  for (let count = 0; count < ASKED; count += 1) times.push((await ask(port, host, path, cookie)).ms)
  return times
}

const agent = new Agent({ keepAlive: true })

/** Asks once. Throws when that is refused. */
async function ask(port: number, host: string, path: string, cookie: string): Promise<{ ms: number; bytes: number }> {
  const begun = performance.now()
  const asked = request({ host: '127.0.0.1', port, path, agent, headers: { Host: host, Cookie: cookie } }).end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  const ms = performance.now() - begun
  let bytes = 0
  for await (const part of answer) bytes += (part as Buffer).length
  if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode}`)
  return { ms, bytes }
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!
}

/** The rival: a server that has nothing to find out. */
async function bareServer(): Promise<{ port: number; close(): void }> {
  const bare = createServer((_request, response) => response.end('x'.repeat(30_000)))
  bare.listen(0, '127.0.0.1')
  await once(bare, 'listening')
  return { port: (bare.address() as AddressInfo).port, close: () => bare.close() }
}

/** A server of the program, with a session. */
class WebServer {
  readonly #child: ChildProcess
  readonly startMs: number
  readonly host: string
  readonly cookie: string

  private constructor(child: ChildProcess, startMs: number, host: string, cookie: string) {
    this.#child = child
    this.startMs = startMs
    this.host = host
    this.cookie = cookie
  }

  get port(): number {
    return Number(this.host.split(':')[1])
  }

  static async start({ dataDir }: Home): Promise<WebServer> {
    const begun = performance.now()
    const args = [MAIN, '--data-dir', dataDir, 'server', '--listen', '127.0.0.1:0', '--no-runner']
    const child = spawn(process.execPath, args, { env: cleanEnv, stdio: ['ignore', 'inherit', 'pipe'] })
    let link: URL | undefined
    for await (const line of createInterface(child.stderr!)) {
      const [found] = /http:\/\/\S+\/login#\w+/.exec(line) ?? []
      if (found === undefined) continue
      link = new URL(found)
      break
    }
    if (!link) throw new Error('the server printed no link')
    child.stderr!.resume()
    const { host, origin, hash } = link
    const port = Number(link.port)
    await ask(port, host, '/healthz', '')
    const startMs = performance.now() - begun
    const headers = { Host: host, Origin: origin, 'Content-Type': 'application/x-www-form-urlencoded' }
    const asked = request({ host: '127.0.0.1', port, path: '/login', method: 'POST', headers })
    asked.end(`code=${hash.slice(1)}`)
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    answer.resume()
    const cookie = answer.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
    return new WebServer(child, startMs, host, cookie)
  }

  cpuMs(): number {
    return Object.values(cpuBelow(this.#child.pid!)).reduce((sum, ms) => sum + ms, 0)
  }

  memoryMb(): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8')
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
  }

  async end(): Promise<void> {
    const over = once(this.#child, 'exit')
    this.#child.kill()
    await over
  }
}
