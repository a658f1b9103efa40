import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { CRAWL_WACZ } from '../../src/base/crawl-wacz.ts'
import { messageOf } from '../../src/base/errors.ts'
import { PROFILES } from '../../src/base/short-folder.ts'
import type { TestHome } from '../support/homes.ts'
import { foldersOf } from '../support/left-folders.ts'
import type { Finding } from '../support/verdict.ts'
import { indexed, packageIn } from '../support/warc-files.ts'
import type { Ledger } from './ledger.ts'

/** What a crawl's pages are captured with, beside other hooks. */
export const CAPTURES =
  'chrome,screenshot,pdf,mhtml,singlefile,dom,consolelog,redirects,accessibility,warc,wacz,responses,readability'

interface Captured extends Record<string, unknown> {
  readonly crawl_id: string
  readonly url: string
  readonly dir: string
  readonly plugin: string
  readonly status: string
  readonly output_str: string
  /** The browser has had the page. */
  readonly visited: boolean
}

/** What a capture looks like that is whole. Throws, or says what is wrong. */
type Look = (page: Captured, file: string) => string | undefined | Promise<string | undefined>

const numberOf = (url: string) => /page-(\d+)/.exec(url)![1]!
const ends =
  (start: string, end: RegExp): Look =>
  (_page, file) => {
    const text = readFileSync(file, 'latin1')
    return text.startsWith(start) && end.test(text.slice(-64)) ? undefined : 'is cut off'
  }
const shows: Look = ({ url }, file) => {
  const text = readFileSync(file, 'utf8')
  if (!/<\/html>\s*$/.test(text)) return 'is cut off'
  return text.includes(`<title>Page ${numberOf(url)}</title>`) ? undefined : 'is another page'
}

const WHOLE: Readonly<Record<string, Look>> = {
  'screenshot/screenshot.png': ends('\x89PNG', /IEND/),
  'pdf/output.pdf': ends('%PDF-', /%%EOF\s*$/),
  'mhtml/snapshot.mhtml': ends('From: ', /------\s*$/),
  'dom/output.html': shows,
  'singlefile/singlefile.html': shows,
  'accessibility/accessibility.json': ({ url }, file) => {
    const text = readFileSync(file, 'utf8')
    JSON.parse(text)
    return text.includes(`Page ${numberOf(url)}`) ? undefined : 'is another page'
  },
  'warc/data.warc.gz': async ({ url, visited }, file) => {
    const records = await indexed(readFileSync(join(dirname(file), 'index.cdxj'), 'utf8'), readFileSync(file))
    const loaded = new Set(records.map((record) => new URL(record.url).pathname))
    const missing = [new URL(url).pathname, ...(visited ? ['/picture.png'] : [])].filter((path) => !loaded.has(path))
    return missing.length > 0 ? `lacks ${missing}` : undefined
  },
  'wacz/page.wacz': async ({ url }, file) => {
    const { pages } = await packageIn(file)
    return pages.join() === url ? undefined : `is of ${pages}`
  },
}

/** Are the captures whole, is their failure said, and has the browser left nothing? */
export async function capturesVerdict(home: TestHome, ledger: Ledger, temp: string): Promise<Finding[]> {
  const results = await home.query<Captured>(`
    select s.crawl_id, s.url, s.output_dir as dir, r.plugin, r.status, r.output_str, exists (
             select from archive_result c where c.snapshot_id = s.id and c.plugin = 'chrome' and c.status = 'succeeded'
           ) as visited
    from snapshot s join archive_result r on r.snapshot_id = s.id
    where r.attempt = (select max(attempt) from archive_result where snapshot_id = s.id and hook_name = r.hook_name)`)
  const broken: string[] = []
  for (const result of results.filter(({ status }) => status === 'succeeded')) {
    for (const [path, look] of Object.entries(WHOLE)) {
      if (!path.startsWith(`${result.plugin}/`)) continue
      const file = join(home.dataDir, result.dir, path)
      const wrong = await (async () => await look(result, file))().catch(messageOf)
      if (wrong) broken.push(`${file} ${wrong}`)
    }
  }
  return [
    { name: 'every capture that succeeded is whole, and of its page', how: 'its bytes', broken },
    {
      name: "a crawl's WACZ has all of its pages",
      how: CRAWL_WACZ,
      broken: await wrongPackages(home, ledger, results),
    },
    {
      name: 'captures fail for a reason, and for a true one',
      how: 'output_str of failed and skipped results',
      broken: results.filter(isUnexplained).map((row) => `${row.dir}/${row.plugin} ${row.status}: ${row.output_str}`),
    },
    { name: 'the browser leaves nothing', how: 'archive/, /tmp, TMPDIR', broken: await leftovers(home, temp) },
  ]
}

/** How often captures ended in each way, as the soak prints it. */
export async function captureCounts(home: TestHome): Promise<string[]> {
  const rows = await home.query<Record<string, string>>(
    `select plugin, status, output_str, count(*) from archive_result where plugin = any($1)
       and status <> 'succeeded' group by 1, 2, 3 order by 4 desc`,
    [CAPTURES.split(',')],
  )
  const [all] = await home.query<Record<string, string>>(
    `select count(*) from archive_result where plugin = any($1) and status = 'succeeded'`,
    [CAPTURES.split(',')],
  )
  const lines = rows.map(({ plugin, status, output_str, count }) => `${count} ${plugin} ${status}: ${output_str}`)
  return [`${all?.['count']} captures succeeded`, ...lines]
}

/** There is a browser, whatever else may be said about it. */
const isUnexplained = ({ status, output_str }: Captured) =>
  ['failed', 'skipped'].includes(status) && /^\s*$|not found|Invalid URL/.test(output_str)

async function wrongPackages(home: TestHome, ledger: Ledger, results: readonly Captured[]): Promise<string[]> {
  const crawls = await home.query<{ id: string; output_dir: string }>('select id, output_dir from crawl')
  const wrong: string[] = []
  for (const { id, output_dir } of crawls) {
    const pages = results.filter((row) => row.crawl_id === id && row.plugin === 'wacz' && row.status === 'succeeded')
    const file = join(home.dataDir, output_dir, CRAWL_WACZ)
    if ((pages.length < 2 || ledger.cancelled.has(id)) && !existsSync(file)) continue
    const found = await packageIn(file).then(({ pages }) => pages.toSorted().join(), messageOf)
    const expected = pages
      .map(({ url }) => url)
      .toSorted()
      .join()
    if (found !== expected) wrong.push(`${file}: ${found} instead of ${expected}`)
  }
  return wrong
}

async function leftovers(home: TestHome, temp: string): Promise<string[]> {
  const left = await foldersOf(home)
  left.push(...globSync(`archive/crawls/*/*/*/chrome/${PROFILES}`, { cwd: home.dataDir }))
  left.push(...readdirSync(temp).filter((name) => basename(name) !== 'node-compile-cache'))
  return left
}
