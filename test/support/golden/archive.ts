import { expect } from 'vitest'
import type { TestHome } from '../homes.ts'
import { COOKIES_TXT } from '../login-site.ts'
import type { Shell } from './shell.ts'

/**
 * The commands that make the archive, in this order. No plugin uses a program of the machine, and one page is archived
 * at a time, so that all rows are made in one order.
 */
const SCRIPT = [
  'config set MAX_SNAPSHOT_WORKERS=1 MAX_CRAWL_WORKERS=1 CHROME_BINARY=chromium',
  'plugin disable chrome wget git ytdlp',
  'persona import Reader cookies.txt',
  'persona set Reader ACCEPT_LANGUAGE=de-DE',
  'add --label News --tag news,daily --plugins html,title,hashes $SITE/page-1.html $SITE/page-2.html',
  'add -c TIMEOUT=30 --tag news --plugins html,title,exit_1 $SITE/page-3.html http://127.0.0.1:1/ $SITE/status-404',
  'add --label Paused --persona Reader --plugins html $SITE/page-4.html',
  'crawl list -n 1 | archivebox-ts crawl pause -',
  'run --exit-on-idle',
  'add --depth 1 --max-urls 5 $SITE/page-5.html',
  'snapshot create --tag later $SITE/page-6.html $SITE/page-7.html $SITE/page-8.html',
  'snapshot list -n 1 | archivebox-ts snapshot pause -',
  'schedule add --every day --tag daily --label Daily $SITE/page-1.html',
]

/** Makes an archive of pages that were archived completely, partly or not at all, and of some that wait. */
export async function makeArchive(home: TestHome, shell: Shell): Promise<void> {
  home.install('exit_1')
  for (const line of [`printf '%s' '${COOKIES_TXT}' >cookies.txt`, ...SCRIPT.map((each) => `archivebox-ts ${each}`)]) {
    const { code, stderr } = await shell.run(line)
    expect(code, `${line}\n${stderr}`).toBe(0)
  }
  // Under load, the end of a hook is reported after the hashes are made, and its files would not count as hashed.
  await home.query(`update archive_result r set end_ts = h.start_ts from archive_result h
    where h.snapshot_id = r.snapshot_id and h.plugin = 'hashes' and r.plugin <> 'hashes'`)
}
