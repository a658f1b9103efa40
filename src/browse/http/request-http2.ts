import { IncomingMessage } from 'node:http'
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type IncomingHttpHeaders } from 'node:http2'
import type { LookupFunction } from 'node:net'
import { AppError } from '../../base/errors.ts'

interface Settings {
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly rejectUnauthorized: boolean
  readonly lookup?: LookupFunction
}

/**
 * Sends one GET over HTTP/2, in its own connection: few servers speak nothing else. Resolves when the headers have
 * arrived, with a message like those of node:http. Throws Node's own errors.
 */
export async function requestHttp2(url: URL, { headers, signal, ...tls }: Settings): Promise<IncomingMessage> {
  const session = connect(url, tls)
  session.on('error', () => {}) // The stream gets the same error.
  try {
    const stream = session.request({ ...headers, ':path': url.pathname + url.search }, { signal })
    stream.once('close', () => session.destroy())
    return await new Promise((resolve, reject) => {
      // A connection that fails cancels its pending streams.
      stream.once('error', (error) => reject(error.cause ?? error))
      stream.once('close', () => reject(brokenOff(url))) // A cancelled stream has no error.
      stream.once('response', (answer) => resolve(new Http2Message(url, session, stream, answer)))
    })
  } catch (error) {
    session.destroy()
    throw error
  }
}

const brokenOff = (url: URL) => new AppError(`connection closed by ${url.host} before the end of the answer`)

class Http2Message extends IncomingMessage {
  readonly #stream: ClientHttp2Stream

  constructor(url: URL, session: ClientHttp2Session, stream: ClientHttp2Stream, answer: IncomingHttpHeaders) {
    super(session.socket as never)
    const fields = Object.entries(answer).filter(([name]) => !name.startsWith(':'))
    this.httpVersion = '2'
    this.statusCode = Number(answer[':status'])
    this.statusMessage = ''
    this.headers = Object.fromEntries(fields)
    this.rawHeaders = fields.flatMap(([name, values]) => [values ?? []].flat().flatMap((value) => [name, value]))
    this.#stream = stream
    stream
      .on('data', (piece: Buffer) => {
        if (!this.push(piece)) stream.pause()
      })
      // A cancelled stream also ends.
      .once('close', () => {
        if (stream.rstCode !== 0 || !stream.readableEnded) return void this.destroy(brokenOff(url))
        this.complete = true
        this.push(null)
      })
      .on('error', (error) => this.destroy(error))
      .pause()
  }

  override _read(): void {
    this.#stream.resume()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#stream.destroy()
    done(error)
  }
}
