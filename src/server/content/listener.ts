import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { basename, join } from 'node:path'
import type { Home } from '../../db/home.ts'
import { isDatabaseAway } from '../../db/trouble.ts'
import { html } from '../../pages/html.ts'
import type { CopyAddresses } from './addresses.ts'
import { type Asked, asked } from './asked.ts'
import { type Capture, Captures } from './captures.ts'
import { frameDocument, framesOf } from './frames.ts'
import { contentHeaders } from './headers.ts'
import { namedFile, pathSent } from './named-files.ts'
import { isFolderInside, type OpenFile, openInside } from './open-inside.ts'
import { answerReplay, refuseMethod } from './replay/answer.ts'
import { REPLAY_HEADERS } from './replay/policy.ts'
import { sendFile, sendTamed, tamedPieces, textOf } from './send-file.ts'
import { shownType, TEXT } from './shown-type.ts'

/** What the content listener works with: no session, no cookie, no page of the app. */
export interface Content {
  readonly home: Home
  readonly copies: CopyAddresses
  /** The app's origin: only the app may show a copy in a frame. */
  readonly app: string
  /** The folder of ReplayWeb.page, if it is installed. */
  published(): string | undefined
}

const UNREAD_MS = 60_000
/** Requests a file as it is, for saving. */
const RAW = 'raw'

/** What is needed to answer one request. */
interface Answering {
  readonly content: Content
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly asked: Asked
}

/** Answers with a file of a capture. */
export function answerContent(content: Content): (request: IncomingMessage, response: ServerResponse) => void {
  const captures = new Captures(content.home)
  return (request, response) => {
    // A client that reads nothing for this long is gone, but keeps a file open.
    response.setTimeout(UNREAD_MS, () => response.destroy())
    answer(content, captures, request, response).catch((error: unknown) => {
      // Half of an answer is useless: the connection is cut, so that the reader notices.
      if (response.headersSent) return void response.destroy()
      const [status, text] = isDatabaseAway(error)
        ? [503, 'The database is unavailable.']
        : [500, 'Something went wrong.']
      plainAnswer(response, status, text, { 'Retry-After': '2' })
    })
  }
}

/**
 * Keeps a server from answering by itself: Node's reply to an unreadable request would be a page on the host of a
 * replay, without its restrictions.
 */
export function answerNothingElse(server: Server): void {
  server.on('clientError', (_error, socket) => socket.destroy())
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
}

async function answer(
  content: Content,
  captures: Captures,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const what = asked(request, content.copies.place)
  const given = what && (await content.copies.captureOf(what.label))
  const capture = given && (await captures.of(given.id))
  // Whoever does not know an address learns nothing, not even which captures exist.
  if (!what || !capture) return plainAnswer(response, 404, 'There is nothing here.', {})
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (given.purpose === 'replay') {
    const { path, query } = what
    const place = { dataDir: content.home.dataDir, published: content.published() }
    const asking = { request, response, path, query, capture, ...place }
    return isRead ? await answerReplay(asking) : refuseMethod(asking)
  }
  const answering: Answering = { content, request, response, asked: what }
  if (isRead) return await answerFile(answering, capture)
  return say(answering, 405, 'Only reading files is allowed here.', { Allow: 'GET, HEAD' })
}

async function answerFile(answering: Answering, { folder, files }: Capture): Promise<void> {
  const { content, request, asked } = answering
  const path = pathSent(asked.path)
  const name = path === undefined ? undefined : namedFile(files, path, asked.query)
  if (name === undefined) return say(answering, 404, 'There is no such file in this copy.')
  const [first = '', ...steps] = folder.split('/')
  const root = join(content.home.dataDir, first)
  const file = await openInside(root, [...steps, ...name.split('/')])
  if (file === undefined) {
    const isHere = await isFolderInside(root, steps)
    return say(answering, 404, isHere ? 'This file no longer exists.' : 'Its files are not on this machine.')
  }
  const { sent, type } = shownType(name, files.get(name)?.mimetype ?? '')
  const headers = contentHeaders(content, asked, sent)
  const sending = { ...answering, file, name }
  const isKept = asked.query === RAW || sent === 'file' || (sent === 'pdf' && !content.copies.place.isWildcard)
  if (isKept) {
    const kept = { 'Content-Type': 'application/octet-stream', 'Content-Disposition': attachment(basename(name)) }
    return await sendFile({ ...sending, headers: { ...headers, ...kept } })
  }
  if (sent === 'html' && asked.frames.length > 0) return await answerFrame(answering, file)
  if (sent === 'html')
    return await sendTamed({ ...sending, headers: { ...headers, 'Content-Type': type } }, framesOf(asked))
  if (sent !== 'svg') return await sendFile({ ...sending, headers: { ...headers, 'Content-Type': type } })
  const vary = { Vary: 'Accept, Sec-Fetch-Dest' }
  if (!isDocument(request))
    return await sendFile({ ...sending, headers: { ...headers, 'Content-Type': type, ...vary } })
  await file.handle.close()
  // An SVG is shown as a picture: as a document it is XML, whose entities can make hidden markup.
  const picture = html`<!doctype html><meta charset="utf-8"><title>${basename(name)}</title>
<img src="./${lastStep(asked)}" alt="">\n`
  return reply(answering, 200, picture.text, { 'Content-Type': 'text/html; charset=utf-8', ...vary })
}

/** The document of a frame in a page, sent separately. The file is closed, whatever happens. */
async function answerFrame(answering: Answering, file: OpenFile): Promise<void> {
  try {
    const text = await frameDocument(textOf(file), answering.asked.frames)
    if (text === undefined) return say(answering, 404, 'There is no such frame in this page.')
    const tamed = Buffer.concat(await Array.fromAsync(tamedPieces([text], framesOf(answering.asked))))
    reply(answering, 200, tamed, { 'Content-Type': 'text/html; charset=utf-8' })
  } finally {
    await file.handle.close()
  }
}

/** The last step of the requested address, unchanged: an address next to itself. */
function lastStep({ path, query }: Asked): string {
  return path.slice(path.lastIndexOf('/') + 1) + (query === undefined ? '' : `?${query}`)
}

/** Whether this is requested as a document, in a tab or a frame. */
function isDocument({ headers }: IncomingMessage): boolean {
  const dest = headers['sec-fetch-dest']
  if (typeof dest === 'string') return ['document', 'iframe', 'frame', 'object', 'embed'].includes(dest)
  return /\btext\/html\b/.test(headers.accept ?? '')
}

/** A short text, for a valid label. */
function say(answering: Answering, status: number, text: string, more: Readonly<Record<string, string>> = {}): void {
  reply(answering, status, `${text}\n`, { 'Content-Type': TEXT, 'Cache-Control': 'no-store', ...more })
}

function reply(
  { content, request, response, asked }: Answering,
  status: number,
  text: string | Buffer,
  more: Readonly<Record<string, string>>,
): void {
  const headers = { ...contentHeaders(content, asked, 'plain'), ...more, 'Content-Length': Buffer.byteLength(text) }
  response.writeHead(status, headers).end(request.method === 'HEAD' ? undefined : text)
}

/** The same for any request, byte for byte. A page in a replay may request it, too, so it is restricted here. */
function plainAnswer(
  response: ServerResponse,
  status: number,
  text: string,
  more: Readonly<Record<string, string>>,
): void {
  response.writeHead(status, {
    ...REPLAY_HEADERS,
    ...more,
    'Content-Type': TEXT,
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
  })
  response.end(text)
}

function attachment(name: string): string {
  const plain = name.replace(/[^\w.-]/g, '_')
  const coded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16)}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${coded}`
}
