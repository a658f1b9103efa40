import type { Html } from './html.ts'
import type { ListLinks } from './links.ts'
import type { Output } from './model/outputs.ts'
import type { Kept, SnapshotPageResult } from './model/snapshot.ts'

/** Where a page is shown: all in which a file on a disk and what a server sends differ. On disk: `on-disk.ts`. */
export interface Place extends ListLinks {
  /** What the script of the page puts before paths from the top of the archive. */
  readonly top: string
  /** What all pages load. */
  readonly style: string
  readonly script: string
  /** The script of the worker by which a page hears of changes. */
  readonly worker?: string
  /** A list comes again by itself while what it shows is worked on. */
  readonly comesAgain: boolean
  /** The page of the archive. */
  readonly archive: string
  crawl(crawl: Kept): string
  /** A file, or a folder, of what the page shows. */
  file(path: string): string
  /** A folder of what the page shows; undefined: it cannot be looked at. */
  folder(path: string): string | undefined
  /** The script that names the copies of a URL; undefined: the page names them. @param urlHash SHA-256, hexadecimal */
  copies(urlHash: string): string | undefined
  /** What a frame with a copy may do. */
  readonly sandbox: string
  /** The file of the snapshot's records; undefined: there is another way to them. */
  readonly records: string | undefined
  /** The page with this output shown large; not given: a script shows it there, or it opens in the frame. */
  choice?(output: Output): string
  /** The page that shows a log; not given: it opens in the frame. */
  log?(result: SnapshotPageResult, name: string): string
  /** Parts of it are exchanged while somebody looks. */
  readonly isLive?: true
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
