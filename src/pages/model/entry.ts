import { join } from 'node:path'
import type { Meanings } from '../../base/makes.ts'
import type { ListedPage } from '../../db/archived-pages.ts'
import { textIn } from '../../machines/text-in.ts'
import type { IndexEntry } from './index-entry.ts'

/** How much of a page's text the search covers. */
const TEXT_CHARS = 300

/**
 * What a list of pages shows of one page, and searches in it; without what is on the disk of another node.
 * @param number its number in the index
 */
export function entryOf(
  dataDir: string,
  number: number,
  crawlId: string,
  { meanings, node, ...page }: ListedPage & Pick<IndexEntry, 'node'> & { readonly meanings: Meanings },
): IndexEntry {
  const pictureOf = (plugin: string) => {
    const isPicture = (path: string) => /\.(png|jpe?g|webp|gif|ico|svg|avif)$/i.test(path)
    const pictures = (node === '' ? page.pictures : []).filter(
      (path) => path.startsWith(`${plugin}/`) && isPicture(path),
    )
    return pictures.find((path) => path.startsWith(`${plugin}/thumbnail.`)) ?? pictures[0] ?? ''
  }
  return {
    number,
    crawlId,
    sealedAt: page.sealed_at,
    outcome: page.outcome,
    tags: page.tags,
    cause: page.cause,
    httpStatus: page.http_status,
    path: page.output_dir,
    icon: firstOf(meanings.with('icon').map(([plugin]) => pictureOf(plugin))),
    picture: firstOf(meanings.with('picture').map(([plugin]) => pictureOf(plugin))),
    size: page.output_size,
    url: page.url,
    title: page.title,
    text: node === '' ? beginningOf(join(dataDir, page.output_dir), meanings) : '',
    node,
  }
}

const firstOf = (paths: readonly string[]): string => paths.find((path) => path !== '') ?? ''

/** The beginning of a page's text, from the output that shows it best. */
function beginningOf(folder: string, meanings: Meanings): string {
  return firstOf(meanings.with('text').map(([plugin, file]) => beginning(join(folder, plugin, file))))
}

/** The first words of a file; '' when there is none. */
function beginning(file: string): string {
  try {
    const text = textIn(file, TEXT_CHARS * 4) ?? ''
    return text.replace(/\s+/g, ' ').trim().slice(0, TEXT_CHARS)
  } catch {
    return ''
  }
}
