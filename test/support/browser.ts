import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

const PROGRAM = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find((path) => existsSync(path))

/** This machine's own browser. */
export const systemBrowser = PROGRAM ?? ''

/** Why no browser can be used: empty when one can. */
export const noBrowser = PROGRAM ? '' : 'needs chromium'

type Params = Readonly<Record<string, unknown>>

/** A crashed tab no longer answers, and its caller gets an error. No expected answer takes longer. */
const ANSWER_MS = 60_000

/** A real headless browser, controlled through its DevTools protocol. */
export class Browser {
  readonly #child: ChildProcess
  readonly #profile: string
  readonly #socket: WebSocket
  readonly #waiting = new Map<number, (answer: { result?: unknown; error?: { message: string } }) => void>()
  readonly #events = new Set<(method: string, params: Params) => void>()
  #session: string | undefined
  #count = 0

  private constructor(child: ChildProcess, profile: string, socket: WebSocket) {
    this.#child = child
    this.#profile = profile
    this.#socket = socket
    socket.addEventListener('message', ({ data }) => {
      const message = JSON.parse(String(data)) as { id?: number; method?: string; params?: Params }
      if (message.method === 'Inspector.targetCrashed')
        for (const answer of this.#waiting.values()) answer({ error: { message: 'the context is gone: it crashed' } })
      if (message.id === undefined) for (const hear of this.#events) hear(message.method ?? '', message.params ?? {})
      else this.#waiting.get(message.id)?.(message as object)
    })
  }

  /** @param options additional command line options */
  static async start(...options: readonly string[]): Promise<Browser> {
    const profile = mkdtempSync(join(tmpdir(), 'archivebox-ts-browser-'))
    const child = spawn(
      PROGRAM!,
      [
        '--headless=new',
        '--no-sandbox',
        '--disable-gpu',
        '--no-first-run',
        '--disable-background-networking',
        '--remote-debugging-port=0',
        `--user-data-dir=${profile}`,
        ...options,
        'about:blank',
      ],
      { stdio: 'ignore', env: { ...process.env, HOME: profile, PATH: '/usr/bin:/bin' } },
    )
    const socket = new WebSocket(await endpoint(profile))
    await once(socket, 'open')
    const browser = new Browser(child, profile, socket)
    const { targetInfos } = (await browser.send('Target.getTargets')) as {
      targetInfos: { targetId: string; type: string }[]
    }
    const { targetId } = targetInfos.find(({ type }) => type === 'page')!
    const attached = (await browser.send('Target.attachToTarget', { targetId, flatten: true })) as { sessionId: string }
    browser.#session = attached.sessionId
    for (const domain of ['Page', 'Runtime', 'Network', 'Log', 'Inspector']) await browser.send(`${domain}.enable`)
    return browser
  }

  async send(method: string, params: Params = {}): Promise<unknown> {
    const id = ++this.#count
    const { promise, resolve } = Promise.withResolvers<{ result?: unknown; error?: { message: string } }>()
    this.#waiting.set(id, resolve)
    this.#socket.send(JSON.stringify({ id, method, params, ...(this.#session && { sessionId: this.#session }) }))
    const late = setTimeout(() => resolve({ error: { message: 'the context is gone: no answer' } }), ANSWER_MS)
    const { result, error } = await promise
    clearTimeout(late)
    this.#waiting.delete(id)
    if (error) throw new Error(`${method}: ${error.message}`)
    return result
  }

  /** Calls back with every event of the browser. @returns stops that */
  listen(hear: (method: string, params: Params) => void): () => void {
    this.#events.add(hear)
    return () => this.#events.delete(hear)
  }

  /** Opens a file and waits until it has loaded; a viewer of the browser itself never reports that. */
  async open(file: string, hash = ''): Promise<void> {
    await this.send('Page.navigate', { url: 'about:blank' })
    await this.until("location.href === 'about:blank'")
    await this.send('Page.navigate', { url: `${pathToFileURL(file).href}${hash}` })
    await this.until("location.protocol === 'file:' && document.readyState !== 'loading'")
  }

  /** Opens an address and waits until it has loaded. */
  async visit(url: string): Promise<void> {
    await this.send('Page.navigate', { url: 'about:blank' })
    await this.until("location.href === 'about:blank'")
    await this.send('Page.navigate', { url })
    await this.until("location.href !== 'about:blank' && document.readyState === 'complete'")
  }

  /** The value of an expression in the page; promises are awaited. */
  async evaluate<T>(expression: string): Promise<T> {
    const answer = (await this.send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    })) as { result: { value: T }; exceptionDetails?: { text: string; exception?: { description?: string } } }
    const { exceptionDetails: broken } = answer
    if (broken) throw new Error(broken.exception?.description ?? broken.text)
    return answer.result.value
  }

  async until(expression: string, seconds = 60): Promise<void> {
    // A page that is reloading itself does not answer.
    const look = () =>
      this.evaluate<boolean>(`!!(${expression})`).catch((error: Error) => {
        if (/navigated|context/.test(error.message)) return false
        throw error
      })
    for (const end = performance.now() + seconds * 1000; !(await look()); ) {
      if (performance.now() > end) throw new Error(`not within ${seconds} s: ${expression}`)
      await delay(20)
    }
  }

  get isOver(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  async close(): Promise<void> {
    const exited = once(this.#child, 'exit')
    this.#session = undefined
    // A tab may crash as late as now.
    await Promise.race([this.send('Browser.close').catch(() => {}), exited])
    await exited
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }
}

/** The address of the browser: it writes that into a file in its profile. */
async function endpoint(profile: string): Promise<string> {
  for (let tries = 0; ; tries += 1) {
    try {
      const [port, path] = readFileSync(join(profile, 'DevToolsActivePort'), 'utf8').split('\n')
      if (port && path) return `ws://127.0.0.1:${port}${path}`
    } catch (error) {
      if (tries > 600) throw error
    }
    await delay(50)
  }
}
