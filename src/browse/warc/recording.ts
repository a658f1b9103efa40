import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Texts } from '../../base/config.ts'
import { type SizeLimit, sizeLimit, sizeText } from '../../base/env-settings.ts'
import { VERSION } from '../../base/version.ts'
import { writeWhole } from '../../base/whole-file.ts'
import { asUtf8 } from '../http/request.ts'
import type { Headers } from './http-message.ts'
import { Payload } from './payload.ts'
import { withoutLogins } from './private-exchange.ts'
import type { Seen } from './seen.ts'
import { endOf, targetOf, type Whole } from './whole.ts'
import type { Exchange, WarcWriter } from './writer.ts'

/** The files of a recording. */
export const WARC = 'data.warc.gz'
export const INDEX = 'index.cdxj'

const MAX_SIZE = 750 * 1024 * 1024
/** A page that never stops requesting must not fill the memory with notes. */
const MOST_NOTES = 1_000

const LATE_MS = 10_000

/** A URL, and why its content is not in the file. */
interface LeftOut {
  readonly url: string
  readonly why: string
}

/** Something made from the page, which gets its own record. */
export interface Made {
  readonly url: string
  readonly mime: string
  readonly bytes: Buffer
}

/** The outcome of a recording. */
export interface Recorded {
  /** The number of responses, and of references to earlier ones. */
  readonly responses: number
  readonly leftOut: readonly LeftOut[]
}

/** Collects everything that the visits of a page and our own requests receive, for one WARC. */
export class Recording {
  readonly #folder: string
  readonly #limit: SizeLimit
  readonly #isPrivate: Promise<boolean>
  readonly #leftOut = new Map<string, string>()
  readonly #sockets = new Set<string>()
  readonly #later = new Map<string, Seen | undefined>()
  readonly #coming = new Map<Promise<void>, string>()
  readonly #whole = new Map<string, Whole>()
  readonly #loading: (() => Iterable<string>)[] = []
  /** Answers to our own requests: those in progress, as far as they have come, and those that broke off. */
  readonly #open = new Set<() => Exchange>()
  readonly #broken: Exchange[] = []
  #writer: Promise<WarcWriter> | undefined
  #queue: Promise<void> = Promise.resolve()
  #trouble: unknown
  #bytes = 0
  #payloads = 0
  #isOver = false

  /** @param isPrivate whether the page is visited with logins: only the public parts of each exchange are kept */
  constructor(folder: string, env: Texts, isPrivate: Promise<boolean>) {
    this.#folder = folder
    this.#isPrivate = isPrivate
    this.#limit = sizeLimit(env, 'WARC_MAX_SIZE', MAX_SIZE)
  }

  /** URLs to request as a whole at the end: the browser received parts of them, or could not return them. */
  get later(): (readonly [url: string, seen: Seen | undefined])[] {
    return [...this.#later].filter(([url]) => !this.#whole.has(url))
  }

  /** The bytes that still fit. */
  get left(): number {
    return this.#limit.bytes - this.#bytes
  }

  /** The complete response that this URL leads to, if there is one. */
  endOf(url: string): Whole | undefined {
    return endOf(url, this.#whole)
  }

  /** Notes that a URL leads to another one without an answer of its own. */
  leads(url: string, target: string): void {
    if (!this.#whole.has(url)) this.#whole.set(url, { bytes: 0, leadsTo: target })
  }

  /** Adds an exchange for this URL that is still in progress; it may yield nothing. */
  add(url: string, exchange: Promise<Exchange | undefined>): void {
    if (this.#isOver) return
    const coming = exchange
      .then(
        (there) => {
          if (there && !this.#isOver) this.#put(there)
        },
        (error: unknown) => {
          this.#trouble ??= error
        },
      )
      .finally(() => this.#coming.delete(coming))
    this.#coming.set(coming, url)
  }

  /** Listens to an answer to our own request, while a caller reads it. */
  listen(url: string, requestHeaders: Readonly<Record<string, string>>, answer: IncomingMessage): void {
    if (this.#isOver) return
    const at = new Date()
    const body = new Payload(join(this.#folder, `.body-${this.#payloads++}`))
    const ip = answer.socket.remoteAddress
    const { httpVersion, statusCode: status = 0, statusMessage: statusText = '', rawHeaders } = answer
    let isTooLarge = false
    // Every piece passes here, whatever reads it; a listener for `data` would start the flow.
    const push = answer.push.bind(answer)
    answer.push = (piece: Buffer | null, encoding?: BufferEncoding) => {
      isTooLarge ||= piece !== null && body.size + piece.length > this.left
      try {
        if (piece && !isTooLarge && this.#open.has(received)) body.add(piece)
      } catch (error) {
        // Nobody would catch it here: whoever reads the answer goes on, and the recording fails at its end.
        this.#trouble ??= error
        this.#open.delete(received)
        body.drop()
      }
      return push(piece, encoding)
    }
    const received = (): Exchange => ({
      ...{ url, at, method: 'GET', status, statusText, body, ip },
      requestHeaders: Object.entries(requestHeaders),
      headers: inPairs(rawHeaders),
      isDecoded: false,
      protocol: httpVersion === '2' ? 'h2' : `http/${httpVersion}`,
      truncated: isTooLarge ? 'length' : answer.complete ? undefined : answer.destroyed ? 'unspecified' : 'time',
    })
    this.#open.add(received)
    answer.once('close', () => {
      if (this.#open.delete(received)) this.#ended(received())
    })
  }

  /** Notes a URL to request as a whole at the end. @param seen what the browser got there, if that is known */
  retryLater(url: string, seen?: Seen): void {
    if (/^https?:/.test(url) && this.#later.size < MOST_NOTES) this.#later.set(url, seen ?? this.#later.get(url))
  }

  /** Notes that a URL is not in the file. */
  leaveOut(url: string, why: string): void {
    if (this.#leftOut.size < MOST_NOTES && !this.#leftOut.has(url)) this.#leftOut.set(url, why)
  }

  /** Registers a source of the URLs that are still loading at the end. */
  loads(urls: () => Iterable<string>): void {
    this.#loading.push(urls)
  }

  /** Notes a connection whose messages are not recorded. */
  noteSocket(url: string): void {
    if (this.#sockets.size < MOST_NOTES) this.#sockets.add(url)
  }

  /**
   * Writes the rest, and puts the file and its index in their places. Throws the file system's error.
   * @param page the page, and when it was archived
   * @param lateMs how long the browser may take to return what it has loaded
   * @returns undefined, and leaves nothing, when nothing was received
   */
  async finish(page: string, made: readonly Made[], lateMs = LATE_MS): Promise<Recorded | undefined> {
    for (const urls of this.#loading) for (const url of urls()) this.leaveOut(url, 'it did not finish')
    // A browser that hangs must not hold up the rest.
    await Promise.race([Promise.all(this.#coming.keys()), sleep(lateMs, undefined, { ref: false })])
    for (const url of this.#coming.values()) this.leaveOut(url, 'the browser did not return the body in time')
    for (const received of this.#takeOpen()) this.#ended(received())
    for (const exchange of this.#broken) {
      if (this.#hasPage(exchange.url)) exchange.body.drop()
      else {
        const { url, truncated } = exchange
        const why = { length: `larger than ${this.#limitText}`, time: 'it did not finish' } as const
        this.leaveOut(url, truncated === 'length' || truncated === 'time' ? why[truncated] : 'it broke off')
        this.#put(exchange)
      }
    }
    for (const [url] of this.later) this.leaveOut(url, 'there was no time to request it again')
    this.#isOver = true
    await this.#queue
    if (this.#trouble !== undefined) throw this.#trouble
    if (!this.#writer) return undefined
    const writer = await this.#writer
    const now = new Date()
    const leftOut = [...this.#leftOut].flatMap(([url, why]) => (this.#hasPage(url) ? [] : [{ url, why }]))
    const responses = writer.index.length
    for (const { url, mime, bytes } of made) await writer.resource(url, now, mime, bytes)
    await writer.metadata(page, now, { left_out: leftOut, websockets: [...this.#sockets] })
    await writer.finish(WARC)
    const { cdxj } = await import('./cdxj.ts')
    writeWhole(this.#folder, INDEX, cdxj(writer.index, WARC))
    this.#writer = undefined
    return { responses, leftOut }
  }

  /** Deletes an unfinished recording. */
  async discard(): Promise<void> {
    this.#isOver = true
    await this.#queue
    for (const { body } of [...this.#broken, ...this.#takeOpen().map((received) => received())]) body.drop()
    if (!this.#writer) return
    await this.#writer.then((writer) => writer.abandon()).catch(() => {})
    this.#writer = undefined
    for (const name of readdirSync(this.#folder)) if (name.startsWith('.')) rmSync(join(this.#folder, name))
  }

  /** Adds the end of an answer to our own request; a redirect is complete without its body. */
  #ended(exchange: Exchange): void {
    if (exchange.truncated === undefined || targetOf(exchange) !== undefined) this.#put(exchange)
    else this.#broken.push(exchange)
  }

  #takeOpen(): (() => Exchange)[] {
    const open = [...this.#open]
    this.#open.clear()
    return open
  }

  get #limitText(): string {
    return `${sizeText(this.#limit.bytes)} (${this.#limit.name}, for the page)`
  }

  #put(exchange: Exchange): void {
    const { url, body } = exchange
    if (body.size > this.left) {
      body.drop()
      this.leaveOut(url, `larger than ${this.#limitText}`)
      return
    }
    this.#bytes += body.size
    this.#note(exchange)
    this.#queue = this.#queue
      .then(async () => {
        this.#writer ??= this.#begin()
        const kept = (await this.#isPrivate) ? withoutLogins(exchange) : exchange
        await (await this.#writer).exchange(kept)
      })
      .catch((error: unknown) => {
        this.#trouble ??= error
      })
      .finally(() => body.drop())
  }

  /** Whether this URL has a complete response that is no redirect. */
  #hasPage(url: string): boolean {
    const there = this.#whole.get(url)
    return there !== undefined && there.leadsTo === undefined
  }

  /** Notes the response for its URL. */
  #note(exchange: Exchange): void {
    const { url, method, status, body, truncated } = exchange
    const leadsTo = targetOf(exchange)
    const isWhole = method === 'GET' && status !== 206 && (truncated === undefined || leadsTo !== undefined)
    const before = this.#whole.get(url)
    // A page that sets a cookie by a redirect to itself comes after that redirect. A repeated response may be empty.
    const isMore = leadsTo === undefined && (before?.leadsTo !== undefined || body.size > (before?.bytes ?? 0))
    if (isWhole && (!before || isMore)) this.#whole.set(url, { bytes: body.size, leadsTo })
  }

  async #begin(): Promise<WarcWriter> {
    mkdirSync(this.#folder, { recursive: true })
    const { WarcWriter } = await import('./writer.ts') // Loaded only when something is recorded.
    return await WarcWriter.open(this.#folder, WARC, { software: `archivebox-ts/${VERSION}` })
  }
}

function inPairs(raw: readonly string[]): Headers {
  return raw.flatMap((name, at) => (at % 2 === 0 ? [[name, asUtf8(raw[at + 1] ?? '')] as const] : []))
}
