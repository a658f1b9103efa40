import type { Home } from '../../db/home.ts'
import {
  beginWebSession,
  endWebSession,
  keepLoginCode,
  type WebSessionRow,
  webSessionOf,
  webSessionSeen,
  webSessions,
} from '../../db/web-sessions.ts'
import { codeTyped, hashOf, newCode, newToken } from './tokens.ts'

/** A browser that is signed in. */
export interface Session {
  /** Identifies it within this server; not the value of its cookie. */
  readonly id: string
}

const LASTS_SECONDS = 30 * 24 * 3_600
const CODE_SECONDS = 300
/** How often a session is noted as seen, at most. */
const SEEN_MS = 3_600_000
/** How long the state of a session is cached: for this long, another server's end of it may go unnoticed. */
const KNOWN_MS = 5_000
const MOST = 1_000

/** The sessions of a data dir: rows, so that they outlive a server. */
export class Sessions {
  readonly #home: Pick<Home, 'db' | 'dataDirId'>
  readonly #known = new Map<string, { readonly until: number; readonly row: WebSessionRow | undefined }>()
  #live: { readonly until: number; readonly ids: Promise<readonly string[]> } | undefined
  /** Called when a session was ended here. */
  readonly #ends = new Set<(id: string) => void>()

  constructor(home: Pick<Home, 'db' | 'dataDirId'>) {
    this.#home = home
  }

  /** A code that begins one session within five minutes. */
  async newCode(): Promise<string> {
    const code = newCode()
    await keepLoginCode(this.#home.db, this.#home.dataDirId, hashOf(code), CODE_SECONDS)
    return code
  }

  /** Begins a session. @returns the value of its cookie; undefined: the code is unknown, or was used */
  async begin(code: string): Promise<string | undefined> {
    const token = newToken()
    const given = { code: hashOf(codeTyped(code)), session: hashOf(token), seconds: LASTS_SECONDS }
    if (!(await beginWebSession(this.#home.db, this.#home.dataDirId, given))) return undefined
    this.#live = undefined
    return token
  }

  /** The session of one of these cookies: other hosts may have added some. */
  async of(tokens: readonly string[]): Promise<Session | undefined> {
    for (const token of tokens) {
      const hash = hashOf(token)
      const id = hash.toString('hex')
      const row = await this.#row(id, hash)
      if (row && row.expires_at.getTime() > Date.now()) return { id }
    }
    return undefined
  }

  /** Whether this session is still valid. */
  async isLive({ id }: Session): Promise<boolean> {
    return (await this.#row(id, Buffer.from(id, 'hex'))) !== undefined
  }

  /** The valid sessions, the latest seen first. */
  async live(): Promise<readonly string[]> {
    if (this.#live === undefined || this.#live.until < performance.now()) {
      const ids = webSessions(this.#home.db, this.#home.dataDirId, MOST).then((rows) =>
        rows.map(({ hash }) => hash.toString('hex')),
      )
      this.#live = { until: performance.now() + KNOWN_MS, ids }
      ids.catch(() => {
        this.#live = undefined
      })
    }
    return await this.#live.ids
  }

  async end({ id }: Session): Promise<void> {
    await endWebSession(this.#home.db, Buffer.from(id, 'hex'))
    this.#known.delete(id)
    this.#live = undefined
    for (const told of this.#ends) told(id)
  }

  /** Calls back with each session that ends here. @returns a function that stops this */
  onEnd(told: (id: string) => void): () => void {
    this.#ends.add(told)
    return () => this.#ends.delete(told)
  }

  async #row(id: string, hash: Buffer): Promise<WebSessionRow | undefined> {
    const now = performance.now()
    const known = this.#known.get(id)
    if (known && known.until > now) return known.row
    if (this.#known.size > MOST) this.#known.clear()
    const row = await webSessionOf(this.#home.db, this.#home.dataDirId, hash)
    this.#known.set(id, { until: now + KNOWN_MS, row })
    if (row && Date.now() - row.seen_at.getTime() > SEEN_MS) await webSessionSeen(this.#home.db, hash, LASTS_SECONDS)
    return row
  }
}
