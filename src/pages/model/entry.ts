import { closeSync, existsSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { openFile } from '../../base/inside.ts'
import type { ListedPage } from '../../db/archived-pages.ts'
import type { IndexEntry } from './index-entry.ts'

/** How much of a page's text the search covers. */
const TEXT_CHARS = 300

/**
 * What a list of pages shows and searches of one.
 * @param number its number in the index
 */
export function entryOf(dataDir: string, number: number, crawlId: string, page: ListedPage): IndexEntry {
  const pictureOf = (plugin: string) => {
    const isPicture = (path: string) => /\.(png|jpe?g|webp|gif|ico|svg|avif)$/i.test(path)
    const pictures = page.pictures.filter((path) => path.startsWith(`${plugin}/`) && isPicture(path))
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
    icon: pictureOf('favicon'),
    picture: pictureOf('screenshot'),
    size: page.output_size,
    url: page.url,
    title: page.title,
    text: beginningOf(join(dataDir, page.output_dir)),
  }
}

/** The beginning of a page's text: its article, else that of a PDF. */
function beginningOf(folder: string): string {
  return beginning(join(folder, 'readability', 'content.txt')) || beginning(join(folder, 'pdftext', 'content.txt'))
}

/** The first bytes of a file; '' when there is none. */
function beginning(file: string): string {
  // Most pages have no PDF: an error costs more than the file.
  if (!existsSync(file)) return ''
  let fd: number | undefined
  try {
    fd = openFile(file)
    if (fd === undefined) return ''
    const bytes = Buffer.alloc(TEXT_CHARS * 4)
    const text = bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0)).toString('utf8')
    return text.replace(/\s+/g, ' ').trim().slice(0, TEXT_CHARS)
  } catch {
    return ''
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
