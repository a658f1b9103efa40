import type { Html } from './html.ts'
import type { ListLinks } from './links.ts'
import type { Output } from './model/outputs.ts'
import type { Kept } from './model/snapshot.ts'

/** Where a page is shown: all in which a file on a disk and what a server sends differ. On disk: `on-disk.ts`. */
export interface Place extends ListLinks {
  /** What the script of the page puts before paths from the top of the archive. */
  readonly top: string
  /** What all pages load. */
  readonly style: string
  readonly script: string
  /** A list comes again by itself while what it shows is worked on. */
  readonly comesAgain: boolean
  /** The page of the archive. */
  readonly archive: string
  crawl(crawl: Kept): string
  /** A file, or a folder, of what the page shows. */
  file(path: string): string
  /** The script that names the copies of a URL. @param urlHash SHA-256, hexadecimal */
  copies(urlHash: string): string
  /**
   * What the page may load, by its own word; undefined: whoever sends it says so.
   * @param showsCopies it shows HTML of strangers in frames, which its policy rules, too
   */
  policy(showsCopies: boolean): string | undefined
  /** What all pages begin with: the way to the others. */
  readonly banner?: Html
  /** An output, where it lies and as it may be shown. */
  shown(output: Output): ShownOutput
}

export interface ShownOutput extends Output {
  readonly href: string
  /** Of its small picture. */
  readonly picture?: string
  /** The text of a document that must not be opened as it is: gzip, in base64. */
  readonly packed?: string
}
