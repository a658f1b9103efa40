import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Texts, timeoutOf } from '../../base/config.ts'
import { flag } from '../../base/kinds.ts'
import { makeShortFolder, shortFolderOf } from '../../base/short-folder.ts'
import { readBody } from '../../plugins/base/body.ts'
import { browserNetwork } from '../../plugins/base/browser/browser-network.ts'
import { findBrowser } from '../../plugins/base/browser/find-browser.ts'
import { endBrowser } from '../../plugins/base/browser/guard.ts'
import { launchBrowser } from '../../plugins/base/browser/launch.ts'
import type { Browser } from '../../plugins/base/browser/packaged.ts'
import { personaDress } from '../../plugins/base/browser/persona.ts'
import { Tab } from '../../plugins/base/browser/tab.ts'
import { visitPage } from '../../plugins/base/browser/visit-page.ts'
import { get } from '../../plugins/base/fetch.ts'
import { scanHtml } from '../../plugins/base/scan-html.ts'

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
  const dress = await personaDress({ env, visit: undefined, log: say })
  const folder = mkdtempSync(join(tmpdir(), 'archivebox-ts-persona-'))
  const sockets = makeShortFolder(shortFolderOf(folder), "the browser's socket")
  const network = await browserNetwork(env)
  try {
    const running = await launchBrowser(browser, folder, sockets, env, network.args, true)
    try {
      const tab = await Tab.open(running.relay.endpoint, env, dress)
      const { final_url, http_status } = await visitPage(tab, url, env, timeoutOf(undefined, env) * 1000, true)
      const hasField = await tab.evaluate<boolean>(HAS_PASSWORD_FIELD)
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

/** In the page, its shadow roots, and its frames of the same site. */
const HAS_PASSWORD_FIELD = `(() => {
  const inside = (frame) => { try { return frame.contentDocument } catch { return null } }
  const has = (root) =>
    root.querySelector('input[type=password i]') !== null ||
    [...root.querySelectorAll('*')].some((one) => {
      const within = one.shadowRoot ?? (/^i?frame$/i.test(one.tagName) ? inside(one) : null)
      return within !== null && has(within)
    })
  return has(document)
})()`

async function byHttp(env: Texts, url: string): Promise<Seen> {
  const signal = AbortSignal.timeout(timeoutOf(undefined, env) * 1000)
  const answer = await get({ url, env, signal }, url)
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
