import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CRAWL_WACZ } from '../../base/crawl-wacz.ts'
import type { Problem } from './check-page.ts'
import { foldersBelow } from './stray-folders.ts'

/**
 * The WACZs of crawls that their own pages offer, and that are not there. No row tells of one: whether a crawl has it
 * depends on settings of that time, and a deletion takes it away, with the link.
 */
export function* lostPackages(dataDir: string): Generator<Problem> {
  for (const folder of foldersBelow(dataDir, 'archive/crawls')) {
    const path = `${folder}/${CRAWL_WACZ}`
    if (!isOffered(join(dataDir, folder, 'index.html')) || existsSync(join(dataDir, path))) continue
    yield { problem: 'no package', path, detail: "the WACZ that the crawl's page offers is not there" }
  }
}

function isOffered(page: string): boolean {
  try {
    return readFileSync(page, 'utf8').includes(`href="${CRAWL_WACZ}"`)
  } catch {
    return false // It is gone, or was never there.
  }
}
