import { globSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Browser, noBrowser } from '../support/browser.ts'
import type { TestHome } from '../support/homes.ts'

const seen = new Set<string>()
/** What leaves no disk, beside files: the browser's own viewer of PDFs, too. */
const OWN = /^(?:data|blob|about|chrome-extension):/
/** A page that asks does so at once. */
const LOOK_MS = 300

/**
 * Opens what we have made since the last time in a real browser, from disk, with a recorder: our pages, single files
 * and articles. @returns the requests that left the data dir
 */
export async function openedCopies(home: TestHome): Promise<string[]> {
  if (noBrowser) return []
  const made = ['**/index.html', '**/singlefile/singlefile.html', '**/readability/content.html']
  const files = globSync(made, { cwd: join(home.dataDir, 'archive') }).filter((file) => !seen.has(file))
  if (files.length === 0) return []
  const browser = await Browser.start()
  const asked: string[] = []
  const folder = pathToFileURL(`${home.dataDir}/`).href
  try {
    for (const file of files) {
      seen.add(file)
      const stop = browser.listen((method, params) => {
        const { url } = (params['request'] ?? {}) as { url?: string }
        if (method === 'Network.requestWillBeSent' && url !== undefined && !url.startsWith(folder) && !OWN.test(url))
          asked.push(`${file} asks for ${url}`)
      })
      await browser.send('Page.navigate', { url: pathToFileURL(join(home.dataDir, 'archive', file)).href })
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
      stop()
    }
  } finally {
    await browser.close()
  }
  return asked
}
