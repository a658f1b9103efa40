import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WARCRecord, WARCSerializer } from 'warcio'
import { installReplay } from '../../src/app/replay/install.ts'
import { installedReplay } from '../../src/app/replay/published.ts'

/** Fetched once for all tests of a run, into the folder that is removed after it. */
export const REPLAY_LIB = join(tmpdir(), 'lib', 'replay-lib')

const SETTINGS = { ...process.env, ABXPKG_LIB_DIR: REPLAY_LIB }

/** Why nothing can be replayed: empty when ReplayWeb.page is there, or npm could fetch it. */
export async function noReplay(): Promise<string> {
  if (installedReplay(SETTINGS)) return ''
  mkdirSync(REPLAY_LIB, { recursive: true })
  const { record } = await installReplay(SETTINGS, {})
  return record.message
}

/** The recorded answer of a page. */
export interface Recorded {
  readonly body: string | Buffer
  readonly type?: string
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** Makes a WARC of these answers, by their URLs. */
export async function warcOf(pages: Readonly<Record<string, Recorded>>): Promise<Buffer> {
  const records: Uint8Array[] = []
  for (const [url, { body, type = 'text/html', status = 200, headers = {} }] of Object.entries(pages)) {
    const options = {
      ...{ url, date: '2026-01-01T00:00:00Z', type: 'response' as const, statusline: `HTTP/1.1 ${status} OK` },
      httpHeaders: { 'Content-Type': type, ...headers },
    }
    const record = WARCRecord.create(options, [Buffer.from(body)])
    records.push(await WARCSerializer.serialize(record, { gzip: true }))
  }
  return Buffer.concat(records)
}

/** The document that one of our pages replays, as an expression in that page; undefined while there is none. */
export const REPLAYED = `(function find(root) {
  for (const element of root.querySelectorAll('*')) {
    const inner = element.shadowRoot ?? (element.tagName === 'IFRAME' ? element.contentDocument : null)
    if (inner && element.src?.includes('mp_/')) return inner
    const found = inner ? find(inner) : undefined
    if (found) return found
  }
})(document)`
