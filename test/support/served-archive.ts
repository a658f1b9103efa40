import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { uuidv7 } from '../../src/base/ids.ts'
import { makeCapture } from './captures.ts'
import type { TestHome } from './homes.ts'

/** Untrusted titles and URLs. */
export const EVIL = `</title><script>alert(1)</script><img src=x onerror=alert(2)>"'&amp;\u202egnp.exe`

/** An archive as rows and files, for the pages of a server. */
export interface ServedArchive {
  /** It has a page in each state. */
  readonly crawl: string
  /** Copies of one URL, the first one first; the last has a copy of each kind. */
  readonly copies: readonly string[]
  readonly url: string
  readonly failed: string
  readonly started: string
  readonly waiting: string
  readonly paused: string
  /** Its title and all output of its hooks are hostile. */
  readonly evil: string
}

const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
const HASH = 'ab'.repeat(32)

const FILES = {
  'singlefile/singlefile.html': '<!doctype html><title>x</title><h1>Whole</h1>',
  'readability/content.html': '<!doctype html><title>x</title><h1>Read</h1>',
  'readability/content.txt': 'The beginning of an article.',
  'screenshot/screenshot.png': PIXEL,
  'screenshot/thumbnail.webp': PIXEL,
  'favicon/favicon.ico': PIXEL,
  'pdf/output.pdf': '%PDF-1.4',
  'wacz/page.wacz': 'x',
  'title/title.txt': 'A title',
  'hashes/hashes.json': JSON.stringify({
    root_hash: HASH,
    files: [{ path: 'singlefile/singlefile.html', size: 1, sha256: HASH }],
  }),
}

/** Makes such an archive. */
export async function makeServedArchive(home: TestHome): Promise<ServedArchive> {
  const url = 'http://example.com/list?page=2&q=a%20b'
  const made = [await makeCapture(home, { 'title/title.txt': 'Old' }), await makeCapture(home, FILES)]
  const copies = made.map(({ id }) => id)
  for (const [at, id] of copies.entries())
    await home.query(
      `update snapshot set url = $2, url_hash = sha256(convert_to($2, 'UTF8')), title = 'A title',
        status_changed_at = now() - $3 * interval '300 days' where id = $1`,
      [id, url, copies.length - at],
    )
  await home.query(`update archived_page a set url_hash = s.url_hash from snapshot s where s.id = a.snapshot_id`)
  const crawl = uuidv7()
  await home.query(
    `insert into crawl (id, urls, urls_total, label, tags, output_dir, status, retry_at)
     values ($1, 'http://example.com/', 5, 'Some of each', '{news}', $2, 'started', now() + interval '1 hour')`,
    [crawl, `archive/crawls/20260101/example.com/${crawl}`],
  )
  const add = async (status: string, title: string, outcome: string | null = null, cause: string | null = null) => {
    const id = uuidv7()
    const dir = `archive/snapshots/20260101/example.com/${id}`
    mkdirSync(join(home.dataDir, dir, '.logs'), { recursive: true })
    await home.query(
      `insert into snapshot (id, crawl_id, url, url_hash, title, output_dir, status, outcome, cause, http_status,
        retry_at)
       values ($1, $2, $3, sha256(convert_to($3, 'UTF8')), $4, $5, $6, $7, $8, 404, $9)`,
      [
        ...[id, crawl, `http://example.com/${title.length}/${id}`, title, dir, status, outcome, cause],
        status === 'queued' || status === 'started' ? new Date(Date.now() + 3_600_000) : null,
      ],
    )
    return { id, dir }
  }
  const evil = await add('sealed', EVIL, 'partial', EVIL)
  await home.query(
    `insert into archive_result (id, snapshot_id, plugin, hook_name, attempt, status, start_ts, end_ts, output_str)
     values ($1, $3, 'wget', 'on_Snapshot__60_wget.js', 1, 'failed', now(), now(), $4),
       ($2, $3, 'wget', 'on_Snapshot__60_wget.js', 2, 'failed', now(), now(), $4)`,
    [uuidv7(), uuidv7(), evil.id, EVIL],
  )
  const log = join(home.dataDir, evil.dir, '.logs', 'wget.on_Snapshot__60_wget.js.2.stderr.log')
  writeFileSync(log, `\u001b[31mred\u001b[0m ${EVIL}\n`)
  const failed = await add('sealed', 'Gone', 'failed', 'HTTP 404')
  const started = await add('started', 'In work')
  const waiting = await add('queued', 'To come')
  const paused = await add('paused', 'Held')
  return {
    ...{ crawl, copies, url },
    ...{ evil: evil.id, failed: failed.id, started: started.id, waiting: waiting.id, paused: paused.id },
  }
}
