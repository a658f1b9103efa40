import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { uuidv7 } from '../../src/base/ids.ts'
import { mimeOf } from '../../src/base/mime.ts'
import { hashOf } from '../../src/server/access/tokens.ts'
import { CopyAddresses, type Purpose } from '../../src/server/content/addresses.ts'
import { serverSecret } from '../../src/server/secret.ts'
import type { TestHome } from './homes.ts'
import type { Served } from './served.ts'

/** An archived page, as a row and files. */
export interface MadeCapture {
  readonly id: string
  readonly dir: string
}

/** The columns about a file besides its text. */
interface Said {
  readonly mimetype?: string
  readonly link?: string
}

/**
 * Makes a sealed page from files, by their paths below its folder: `plugin/name`. Each plugin has a result that names
 * them.
 */
export async function makeCapture(
  home: TestHome,
  files: Readonly<Record<string, string | Buffer>>,
  said: Readonly<Record<string, Said>> = {},
  folder = 'archive/snapshots/20260101/example.com',
): Promise<MadeCapture> {
  const [id, crawl] = [uuidv7(), uuidv7()]
  const outputDir = `${folder}/${id}`
  const dir = join(home.dataDir, outputDir)
  await home.query(
    `insert into crawl (id, urls, output_dir, config) values ($1, 'http://example.com/', $2, '{"adopted": true}')`,
    [crawl, `archive/crawls/20260101/example.com/${crawl}`],
  )
  await home.query(
    `insert into snapshot (id, crawl_id, url, url_hash, output_dir, status, retry_at, outcome)
     values ($1, $2, 'http://example.com/', sha256($3::bytea), $4, 'sealed', null, 'archived')`,
    [id, crawl, id, outputDir],
  )
  const named: Record<string, Record<string, object>> = {}
  for (const path of [...Object.keys(files), ...Object.keys(said)]) {
    const [plugin = '', ...steps] = path.split('/')
    named[plugin] ??= {}
    named[plugin][steps.join('/')] = { size: files[path]?.length ?? 0, mimetype: mimeOf(path), ...said[path] }
  }
  for (const [plugin, names] of Object.entries(named))
    await home.query(
      `insert into archive_result (id, snapshot_id, plugin, hook_name, status, start_ts, end_ts, output_files)
       values ($1, $2, $3, $4, 'succeeded', now(), now(), $5)`,
      [uuidv7(), id, plugin, `on_Snapshot__50_${plugin}.js`, JSON.stringify(names)],
    )
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
  return { id, dir }
}

/** The locations of copies, for the session of a test. */
export interface Copies {
  readonly port: number
  /** The origin of a capture, or of its replay. */
  base(id: string, purpose?: Purpose): string
}

/** Where a server shows copies: its policy names the hosts that they come from. */
export async function copiesOf(home: TestHome, served: Served): Promise<Copies> {
  const { headers } = await served.ask('/')
  const port = Number(/http:\/\/\*\.localhost:(\d+)/.exec(String(headers['content-security-policy']))?.[1])
  const session = { id: hashOf(served.cookie.split('=')[1] ?? '').toString('hex') }
  const place = { protocol: 'http:', host: `localhost:${port}`, isWildcard: true } as const
  const addresses = new CopyAddresses(place, serverSecret(home.dataDir), { live: async () => [] })
  return { port, base: (id, purpose) => addresses.base(id, session, purpose) }
}
