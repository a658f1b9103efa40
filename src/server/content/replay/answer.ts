import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { Capture } from '../captures.ts'
import { namedFile, pathSent } from '../named-files.ts'
import { openInside } from '../open-inside.ts'
import { sendFile } from '../send-file.ts'
import { TEXT } from '../shown-type.ts'
import { isRecord } from './availability.ts'
import { replayPage } from './page.ts'
import { PAGE_HEADERS, PROBE_HEADERS, REPLAY_HEADERS } from './policy.ts'
import { replayScripts } from './scripts.ts'

/** A request to the host that replays a capture. */
export interface ReplayRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** As it was sent, without the slash at its beginning. */
  readonly path: string
  readonly query: string | undefined
  readonly capture: Capture
  readonly dataDir: string
  /** The folder of ReplayWeb.page; undefined: it is not installed. */
  readonly published: string | undefined
}

const HTML = 'text/html; charset=utf-8'
const SCRIPT = 'text/javascript; charset=utf-8'
/** Their worker, which ours imports. */
const WABAC = 'replay/wabac.js'
/** The files of ReplayWeb.page, by their paths here. */
const PUBLISHED: ReadonlyMap<string, readonly [name: string, type: string]> = new Map([
  ['replay/ui.js', ['ui.js', SCRIPT]],
  [WABAC, ['sw.js', SCRIPT]],
  ['replay/LICENSE', ['LICENSE', TEXT]],
])
/**
 * The queries that our page and the parts of ReplayWeb.page load the worker with: no others may change what it does.
 */
const WORKER_QUERIES: readonly (string | undefined)[] = [undefined, 'serveIndex=1']

/** Sends what replays a capture, and the files that are replayed; nothing else of it. */
export async function answerReplay(asked: ReplayRequest): Promise<void> {
  const { path, query, published, capture } = asked
  if (published === undefined) return say(asked, 404, 'ReplayWeb.page is not installed.')
  // Registered directly, their worker would answer without our restrictions.
  if (isRegistered(asked) && path !== 'replay/sw.js') return say(asked, 404, 'This is not a worker.')
  const file = PUBLISHED.get(path)
  if (file) return await sendPublished(asked, published, file)
  if (path === 'replay/sw.js' && WORKER_QUERIES.includes(query)) return text(asked, SCRIPT, replayScripts().worker)
  if (path === 'page.js') return text(asked, SCRIPT, replayScripts().page)
  if (path === 'probe') return text(asked, HTML, '<!doctype html>', PROBE_HEADERS)
  const [, what, rest] = /^(page|file)\/(.*)$/s.exec(path) ?? []
  const sent = rest === undefined ? undefined : pathSent(rest)
  const name = sent === undefined ? undefined : namedFile(capture.files, sent)
  if (name === undefined || !isRecord(name)) return say(asked, 404, 'There is nothing here.')
  if (what === 'page') return text(asked, HTML, replayPage(capture.url, name), PAGE_HEADERS)
  return await sendRecord(asked, name)
}

/** Refuses everything but reading. */
export function refuseMethod(asked: ReplayRequest): void {
  say(asked, 405, 'Only reading files is allowed here.', { Allow: 'GET, HEAD' })
}

function isRegistered({ request: { headers } }: ReplayRequest): boolean {
  return headers['service-worker'] !== undefined || headers['sec-fetch-dest'] === 'serviceworker'
}

async function sendPublished(
  asked: ReplayRequest,
  folder: string,
  [name, type]: readonly [string, string],
): Promise<void> {
  const file = await openInside(folder, [name])
  if (file === undefined) return say(asked, 404, 'ReplayWeb.page is not installed.')
  // A cached worker could be registered without asking here.
  const kept = asked.path === WABAC && { 'Cache-Control': 'no-store' }
  await sendFile({ ...asked, file, name, headers: { ...REPLAY_HEADERS, ...kept, 'Content-Type': type } })
}

async function sendRecord(asked: ReplayRequest, name: string): Promise<void> {
  const [first = '', ...steps] = asked.capture.folder.split('/')
  const file = await openInside(join(asked.dataDir, first), [...steps, ...name.split('/')])
  if (file === undefined) return say(asked, 404, 'This file does not exist.')
  await sendFile({ ...asked, file, name, headers: { ...REPLAY_HEADERS, 'Content-Type': 'application/octet-stream' } })
}

function say(asked: ReplayRequest, status: number, words: string, more: Readonly<Record<string, string>> = {}): void {
  const headers = { ...REPLAY_HEADERS, 'Cache-Control': 'no-store', ...more }
  reply(asked, status, `${words}\n`, { ...headers, 'Content-Type': TEXT })
}

function text(asked: ReplayRequest, type: string, body: string, headers = REPLAY_HEADERS): void {
  reply(asked, 200, body, { ...headers, 'Content-Type': type })
}

function reply(
  { request, response }: ReplayRequest,
  status: number,
  body: string,
  headers: Readonly<Record<string, string>>,
): void {
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body) })
  response.end(request.method === 'HEAD' ? undefined : body)
}
