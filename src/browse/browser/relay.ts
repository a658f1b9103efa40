import { rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { ALONE, ENDED, Turns } from './turns.ts'

/** The two ends of a browser's `--remote-debugging-pipe`. */
export interface Pipe {
  readonly toBrowser: Writable
  readonly fromBrowser: Readable
}

interface Client {
  readonly socket: WebSocket
  /** Its own session with the whole browser, which owns what it creates. */
  readonly session: string
}

/** Receives the answer to a command: the message, and the offset after its id. */
type Taker = (message: Buffer, from: number) => void

// Chromium writes the id of an answer first, and the session of any message last.
const ID = /^\{"id":(\d+),/
const SESSION = /,"sessionId":"(\w+)"\}$/
const ENDS_BYTES = 64
const ATTACHED = '{"method":"Target.attachedToTarget"'
const DETACHED = '{"method":"Target.detachedFromTarget"'
const CRASHED = '{"method":"Inspector.targetCrashed"'
/** A tab whose process has been killed crashes within this time. */
const CRASH_MS = 5_000
/** Larger than any answer: a client that leaves this much unread has stopped. */
const MOST_UNREAD_BYTES = 1024 ** 3

/**
 * Lets many clients share one browser through a socket that only this account can open: Chromium itself has a pipe, for
 * one client, or a port, which other accounts can open, too. Each client speaks the DevTools protocol (flat sessions)
 * as if it were alone; at ALONE it is, and its commands wait for their turn. What it has created ends with its
 * connection, if it is `disposeOnDetach`.
 */
export class Relay {
  /** The address of the protocol, for a WebSocket client: `ws+unix:PATH:/`. */
  readonly endpoint: string
  readonly #server: Server
  readonly #sockets: WebSocketServer
  readonly #pipe: Pipe
  readonly #takers = new Map<number, Taker>()
  readonly #clients = new Map<string, Client>()
  readonly #turns = new Turns()
  #killed: { readonly why: string; readonly at: number } | undefined
  #next = 1

  private constructor(pipe: Pipe, path: string) {
    this.endpoint = `ws+unix:${path}:/`
    this.#pipe = pipe
    this.#server = createServer((_request, response) => response.writeHead(426).end())
    this.#sockets = new WebSocketServer({ server: this.#server, maxPayload: MOST_UNREAD_BYTES })
    this.#sockets.on('error', () => {}) // The error of the server, which `open` throws.
    this.#sockets.on('connection', (socket, { url }) => void this.#welcome(socket, url === `/${ALONE}`))
    pipe.toBrowser.on('error', () => {}) // 'close' follows.
    pipe.fromBrowser.on('error', () => {}).on('data', (piece: Buffer) => this.#read(piece))
  }

  /** @param folder exists, belongs to this account alone, and has a short path */
  static async open(pipe: Pipe, folder: string): Promise<Relay> {
    const path = join(folder, 'browser.sock')
    rmSync(path, { force: true })
    const relay = new Relay(pipe, path)
    await new Promise<void>((resolve, reject) => relay.#server.once('error', reject).listen(path, resolve))
    return relay
  }

  /** Resolves when the browser answers a trivial command; never if it does not. */
  async answer(): Promise<void> {
    await this.#ask('Browser.getVersion')
  }

  /** Closes all connections, because the browser is ending. @param why in a few words, for the clients */
  close(why = ''): void {
    for (const socket of this.#sockets.clients) socket.close(ENDED, why)
    this.#server.close()
  }

  /** Notes in a few words why the process of a tab is being killed: its client learns it when the tab ends. */
  explain(why: string): void {
    this.#killed = { why, at: performance.now() }
  }

  async #welcome(socket: WebSocket, isAlone: boolean): Promise<void> {
    const early: Buffer[] = []
    let take = (data: Buffer) => {
      early.push(data)
    }
    socket.on('message', (data: Buffer) => take(data))
    socket.on('error', () => {}) // 'close' follows.
    const endTurn = await this.#turns.take(isAlone)
    if (socket.readyState !== socket.OPEN) return endTurn()
    socket.once('close', endTurn)
    const session = /"sessionId":"(\w+)"/.exec(String(await this.#ask('Target.attachToBrowserTarget')))?.[1] ?? ''
    const client: Client = { socket, session }
    const leave = () => {
      for (const [id, { socket: other }] of this.#clients) if (other === socket) this.#clients.delete(id)
      void this.#ask('Target.detachFromTarget', { sessionId: session })
    }
    if (socket.readyState !== socket.OPEN) return leave()
    socket.once('close', leave)
    this.#clients.set(session, client)
    take = (data) => this.#pass(client, data)
    for (const data of early) take(data)
  }

  /** Passes on a command of a client, with our own id, in the client's session. */
  #pass(client: Client, data: Buffer): void {
    let command: { readonly id: number; readonly sessionId?: string }
    try {
      command = JSON.parse(String(data)) as typeof command
    } catch {
      client.socket.terminate()
      return
    }
    this.#command({ sessionId: client.session, ...command }, (message, from) =>
      this.#send(client, [Buffer.from(`{"id":${command.id},`), message.subarray(from)], message),
    )
  }

  async #ask(method: string, params?: object): Promise<Buffer> {
    return await new Promise((resolve) => this.#command({ method, params }, resolve))
  }

  #command(command: object, taker: Taker): void {
    const id = this.#next++
    this.#takers.set(id, taker)
    this.#pipe.toBrowser.write(`${JSON.stringify({ ...command, id })}\0`)
  }

  #parts: Buffer[] = []

  /** Messages end with a NUL. */
  #read(piece: Buffer): void {
    for (let from = 0; ; ) {
      const end = piece.indexOf(0, from)
      this.#parts.push(piece.subarray(from, end < 0 ? undefined : end))
      if (end < 0) return
      this.#receive(this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts))
      this.#parts = []
      from = end + 1
    }
  }

  /** Large messages, such as pictures, are passed on without being parsed. */
  #receive(message: Buffer): void {
    const start = message.toString('latin1', 0, ENDS_BYTES)
    const id = ID.exec(start)
    if (id) {
      const taker = this.#takers.get(Number(id[1]))
      this.#takers.delete(Number(id[1]))
      taker?.(message, id[0].length)
      return
    }
    const client = this.#clients.get(sessionOf(message) ?? '')
    if (!client) return
    if (start.startsWith(ATTACHED)) this.#clients.set(sessionIn(message), client)
    else if (start.startsWith(DETACHED)) this.#clients.delete(sessionIn(message))
    const killed = start.startsWith(CRASHED) ? this.#takeKilled() : undefined
    this.#send(client, [killed === undefined ? message : saying(killed, message)], message)
  }

  #takeKilled(): string | undefined {
    const killed = this.#killed
    this.#killed = undefined
    return killed && performance.now() - killed.at < CRASH_MS ? killed.why : undefined
  }

  /** @param parts the message for its client, without the client's own session, which it does not know */
  #send({ socket, session }: Client, parts: readonly Buffer[], message: Buffer): void {
    if (socket.bufferedAmount > MOST_UNREAD_BYTES) {
      socket.terminate()
      return
    }
    const whole = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
    const isItsOwn = sessionOf(message) === session
    const shown = isItsOwn ? Buffer.concat([whole.subarray(0, -TAIL_BYTES - session.length), CLOSING]) : whole
    socket.send(shown, { binary: false })
  }
}

const TAIL_BYTES = ',"sessionId":""}'.length
const CLOSING = Buffer.from('}')

/** Adds the reason to the parameters of an event. */
const saying = (why: string, message: Buffer): Buffer =>
  Buffer.from(JSON.stringify({ ...(JSON.parse(String(message)) as object), params: { why } }))

/** The session that a message was sent in. */
const sessionOf = (message: Buffer) =>
  SESSION.exec(message.toString('latin1', Math.max(0, message.length - ENDS_BYTES)))?.[1]

/** The session that an event is about. */
const sessionIn = (message: Buffer) =>
  (JSON.parse(String(message)) as { readonly params: { readonly sessionId: string } }).params.sessionId
