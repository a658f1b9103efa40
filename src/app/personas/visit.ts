import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Texts, timeoutOf } from '../../base/config.ts'
import { flag } from '../../base/kinds.ts'
import { makeShortFolder, shortFolderOf } from '../../base/short-folder.ts'
import { browserNetwork } from '../../browse/browser/browser-network.ts'
import { findBrowser } from '../../browse/browser/find-browser.ts'
import { endBrowser } from '../../browse/browser/guard.ts'
import { inPage } from '../../browse/browser/in-page.ts'
import { launchBrowser } from '../../browse/browser/launch.ts'
import type { Browser } from '../../browse/browser/packaged.ts'
import { scanHtml } from '../../browse/html/scan-html.ts'
import { readBody } from '../../browse/http/body.ts'
import { fetchPage, openTab, visitPage } from '../../browse/index.ts'

/** What a page shows to a persona. */
export interface Seen {
  /** After redirects. */
  readonly url: string
  readonly http_status: number | null
  readonly has_password_field: boolean
  readonly by: 'browser' | 'HTTP'
}

/** Enough of a page to judge it by. */
const MOST_BYTES = 5 * 1024 * 1024

/**
 * Visits a page as a crawl would, with the browser if there is one and CHROME_ENABLED allows it. Throws AppError when
 * there is no page.
 */
export async function visitAs(env: Texts, url: string, say: (line: string) => void): Promise<Seen> {
  const browser = flag.read(env['CHROME_ENABLED'] ?? 'true') === false ? undefined : await findBrowser(env)
  return browser ? await byBrowser(browser, env, url, say) : await byHttp(env, url)
}

async function byBrowser(browser: Browser, env: Texts, url: string, say: (line: string) => void): Promise<Seen> {
  const folder = mkdtempSync(join(tmpdir(), 'archivebox-ts-persona-'))
  const sockets = makeShortFolder(shortFolderOf(folder), "the browser's socket")
  const network = await browserNetwork(env)
  try {
    const running = await launchBrowser(browser, folder, sockets, env, network.args, true)
    try {
      let hasEnded = false
      void running.ended.then(() => (hasEnded = true))
      const context = { env, signal: AbortSignal.timeout(timeoutOf(undefined, env) * 1000), log: say }
      const tab = await openTab(context, {
        endpoint: () => (hasEnded ? undefined : running.relay.endpoint),
      })
      const { final_url, http_status } = await visitPage(tab, url, env, timeoutOf(undefined, env) * 1000, true)
      const hasField = await tab.evaluate<boolean>(inPage('has-password-field'))
      return { url: final_url, http_status, has_password_field: hasField, by: 'browser' }
    } finally {
      endBrowser(running)
      await running.ended
    }
  } finally {
    network.close()
    for (const each of [folder, sockets]) rmSync(each, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function byHttp(env: Texts, url: string): Promise<Seen> {
  const signal = AbortSignal.timeout(timeoutOf(undefined, env) * 1000)
  const answer = await fetchPage({ url, env, signal })
  const { bytes } = await readBody(answer, { bytes: MOST_BYTES, name: '' }, signal)
  await answer.body.close()
  let hasField = false
  scanHtml(bytes.toString(), {
    names: new Set(['input']),
    open(_, attributes) {
      hasField ||= attributes.get('type')?.toLowerCase() === 'password'
    },
    done: () => hasField,
  })
  return { url: answer.url, http_status: answer.status, has_password_field: hasField, by: 'HTTP' }
}
