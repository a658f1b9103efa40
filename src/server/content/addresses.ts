import { createHmac, timingSafeEqual } from 'node:crypto'
import { href } from '../../pages/links.ts'
import type { Session, Sessions } from '../access/sessions.ts'

/** 100 bits: 20 letters of five bits. */
const MAC_LETTERS = 20
const LETTERS = '0123456789abcdefghijklmnopqrstuv'
const DAY_MS = 86_400_000
const LABEL = /^([0-9a-f]{32})-([0-9a-v]{20})(-r)?$/

/** What a capture is opened for: its files, made harmless, or its replay, which runs what the page ran. */
export type Purpose = 'copy' | 'replay'

/** The place of the content listener. */
export interface ContentPlace {
  readonly protocol: 'http:' | 'https:'
  /** The part after the label of a capture: `localhost:8001`; if `isWildcard` is false, the whole host. */
  readonly host: string
  /** Whether each capture has its own host. Else all share one, and each is shown with an opaque origin. */
  readonly isWildcard: boolean
}

/** The access that an address grants. */
export interface Given {
  readonly id: string
  readonly session: Session
  readonly purpose: Purpose
}

/**
 * The addresses of copies. A capture has its own host, whose name grants access: it encodes which capture it is, and
 * that this server gave it to a session, yesterday or today. It ends with the session. Its replay has another host,
 * which cannot be guessed from the first.
 */
export class CopyAddresses {
  readonly place: ContentPlace
  readonly #secret: Buffer
  readonly #sessions: Pick<Sessions, 'live'>

  constructor(place: ContentPlace, secret: Buffer, sessions: Pick<Sessions, 'live'>) {
    this.place = place
    this.#secret = secret
    this.#sessions = sessions
  }

  /** The origin of a capture for a session; where all share one host, that and the beginning of each path. */
  base(snapshotId: string, session: Session, purpose: Purpose = 'copy'): string {
    const id = snapshotId.replaceAll('-', '')
    const label = `${id}-${this.#mac(purpose, id, session.id, today())}${purpose === 'replay' ? '-r' : ''}`
    const { protocol, host, isWildcard } = this.place
    return isWildcard ? `${protocol}//${label}.${host}` : `${protocol}//${host}/${label}`
  }

  /** The address of a file of a capture. @param path relative to its folder */
  file(snapshotId: string, session: Session, path: string): string {
    return `${this.base(snapshotId, session)}/${href(path)}`
  }

  /** The capture in a label, and the session that got it; undefined: the label is not one of ours. */
  async captureOf(label: string): Promise<Given | undefined> {
    const [, id, mac, end] = LABEL.exec(label) ?? []
    if (id === undefined || mac === undefined) return undefined
    const purpose = end === undefined ? 'copy' : 'replay'
    const given = Buffer.from(mac)
    for (const session of await this.#sessions.live())
      for (const day of [today(), today() - 1])
        if (timingSafeEqual(Buffer.from(this.#mac(purpose, id, session, day)), given))
          return { id: withDashes(id), session: { id: session }, purpose }
    return undefined
  }

  #mac(purpose: Purpose, id: string, session: string, day: number): string {
    const bytes = createHmac('sha256', this.#secret).update(`${purpose} ${id} ${session} ${day}`).digest()
    return [...bytes.subarray(0, MAC_LETTERS)].map((byte) => LETTERS[byte & 31]).join('')
  }
}

const today = () => Math.floor(Date.now() / DAY_MS)

function withDashes(id: string): string {
  return [id.slice(0, 8), id.slice(8, 12), id.slice(12, 16), id.slice(16, 20), id.slice(20)].join('-')
}
