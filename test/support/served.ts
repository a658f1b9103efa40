import { type IncomingHttpHeaders, request } from 'node:http'
import type { TestHome } from './homes.ts'
import { type Call, eventually, type Running } from './program.ts'

/** A complete answer. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

export interface AskOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** A server of a test, with a session. */
export interface Served {
  readonly running: Running
  /** The origin of the app: only browsers resolve that name by themselves. */
  readonly origin: string
  readonly host: string
  readonly port: number
  /** A `Cookie` header with a session. */
  readonly cookie: string
  /** Sends a request to the app with that session. */
  ask(path: string, options?: AskOptions): Promise<Answer>
  /** A new one-time link for a browser. */
  link(): Promise<string>
}

/** Starts a server on a free port, without a runner unless other arguments enable it, and logs in. */
export async function serveHome(home: TestHome, ...args: readonly (string | Call)[]): Promise<Served> {
  const words = args.filter((arg) => typeof arg === 'string')
  const call = args.find((arg) => typeof arg !== 'string') ?? {}
  const given = words.length > 0 ? words : ['--no-runner']
  const place = given.includes('--listen') ? [] : ['--listen', '127.0.0.1:0']
  const running = home.start(['server', ...place, ...given], call)
  const linkIn = (text: string) => /http:\/\/\S+\/login#\w+/.exec(text)?.[0]
  await eventually(() => linkIn(running.stderr) !== undefined || running.isOver)
  const first = linkIn(running.stderr)
  if (!first) throw new Error(`the server printed no link: ${running.stderr}`)
  const { origin, host, port, hash } = new URL(first)
  const asking = async (path: string, options: AskOptions) => await askAt(Number(port), host, path, options)
  const loggingIn = async () =>
    await asking('/login', {
      method: 'POST',
      headers: { Origin: origin, 'Content-Type': 'application/x-www-form-urlencoded' },
      body: `code=${hash.slice(1)}`,
    })
  // An older server that exits resets connections that it has not accepted yet.
  const login = await loggingIn().catch(loggingIn)
  const cookie = login.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  return {
    running,
    origin,
    host,
    port: Number(port),
    cookie,
    ask: async (path, options = {}) =>
      await asking(path, { ...options, headers: { Cookie: cookie, ...options.headers } }),
    link: async () => {
      const { stdout, stderr } = await home.run(['server', 'link'])
      return linkIn(stdout) ?? linkIn(stderr) ?? ''
    },
  }
}

/** Sends a request to the server at this port of loopback, under any name. */
export async function askAt(port: number, host: string, path: string, options: AskOptions = {}): Promise<Answer> {
  const { method = 'GET', headers = {}, body } = options
  return await new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, method, headers: { Host: host, ...headers } }, (answer) => {
      const parts: Buffer[] = []
      answer.on('data', (part: Buffer) => parts.push(part))
      answer.on('error', reject)
      answer.on('end', () => {
        const text = Buffer.concat(parts).toString('utf8')
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text })
      })
    })
    asked.on('error', reject)
    asked.end(body)
  })
}
