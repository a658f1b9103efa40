import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CRAWL_WACZ } from '../../base/crawl-wacz.ts'
import type { Problem } from './check-page.ts'
import { foldersBelow } from './stray-folders.ts'

/**
 * The WACZs of crawls that their own pages link to, but that are missing. No row records them: whether a crawl has one
 * depends on settings of that time, and a deletion removes it, with the link.
 */
export function* lostPackages(dataDir: string): Generator<Problem> {
  for (const folder of foldersBelow(dataDir, 'archive/crawls')) {
    const path = `${folder}/${CRAWL_WACZ}`
    if (!isOffered(join(dataDir, folder, 'index.html')) || existsSync(join(dataDir, path))) continue
    yield { problem: 'no package', path, detail: "the WACZ that the crawl's page links to is missing" }
  }
}

function isOffered(page: string): boolean {
  try {
    return readFileSync(page, 'utf8').includes(`href="${CRAWL_WACZ}"`)
  } catch {
    return false // It is gone, or never existed.
  }
}
