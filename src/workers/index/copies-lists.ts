import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../../base/errors.ts'
import { copiesOfUrl } from '../../db/archived-pages.ts'
import type { Home } from '../../db/home.ts'
import { otherNodes } from '../../db/nodes.ts'
import { copiesFile, copiesText, listedCopies } from '../../pages/copies.ts'
import { publishFile } from './publish-file.ts'

/** At most this many copies of one URL are listed. */
const MOST_COPIES = 100

/** Rewrites a page that does not list its other copies yet. */
export type Rewrite = (id: string) => Promise<void>

/**
 * Writes the lists of copies of these URLs, and before that the pages that do not link to theirs yet. Pages in an
 * earlier list were checked then, so that another copy of a page that has a hundred costs one check.
 */
export async function writeCopies(home: Home, urls: readonly string[], rewrite: Rewrite): Promise<void> {
  for (const hash of urls) {
    const copies = await copiesOfUrl(home.db, hash, MOST_COPIES)
    const file = copiesFile(hash)
    const list = join(home.dataDir, file)
    const before = listedCopies(await readFile(list, 'utf8').catch(() => ''))
    // The only copy in a list needs no link: it is checked when there is another.
    const linked = new Set(before.length < 2 ? [] : before)
    const nodeOf = await otherNodes(home, copies)
    const unlinked = copies.filter((copy) => !linked.has(copy.output_dir) && nodeOf(copy) === '')
    for (const copy of copies.length < 2 ? [] : unlinked)
      await ofOnePage(async () => {
        if (await lacks(join(home.dataDir, copy.output_dir, 'index.html'), file)) await rewrite(copy.id)
      })
    await publishFile(
      list,
      copiesText(
        copies.map((copy) => ({
          ...{ sealedAt: copy.sealed_at, outcome: copy.outcome, path: copy.output_dir },
          node: nodeOf(copy),
        })),
      ),
    )
  }
}

/** A page whose file cannot be read or written does not keep others from their list; `verify` names it. */
async function ofOnePage(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!['EISDIR', 'EACCES', 'EPERM', 'ENOTDIR', 'ELOOP'].includes(codeOf(error) ?? '')) throw error
  }
}

/** A page names its script at its very end, after its packed copies. */
const END_BYTES = 4_096

/** Whether the page exists, and lacks this script. */
async function lacks(page: string, script: string): Promise<boolean> {
  const file = await open(page).catch(() => undefined)
  if (!file) return false
  try {
    const { size } = await file.stat()
    const end = Buffer.alloc(Math.min(END_BYTES, size))
    await file.read(end, 0, end.length, size - end.length)
    return !end.toString('latin1').includes(script)
  } finally {
    await file.close()
  }
}
