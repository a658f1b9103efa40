import type { Html } from './html.ts'
import type { ListLinks } from './links.ts'
import type { Output } from './model/outputs.ts'
import type { Kept, SnapshotPageResult } from './model/snapshot.ts'

/** Where a page is shown: everything in which a file on disk and a served page differ. On disk: `on-disk.ts`. */
export interface Place extends ListLinks {
  /** The prefix of the page's script for paths from the top of the archive. */
  readonly top: string
  /** What all pages load. */
  readonly style: string
  readonly script: string
  /** The script of the worker that reports changes to the page. */
  readonly worker?: string
  /** A list reloads by itself while its pages are in work. */
  readonly comesAgain: boolean
  /** The page of the archive. */
  readonly archive: string
  /** The page of a crawl; undefined: that is on the disk of another node. */
  crawl(crawl: Kept & { readonly isAway: boolean }): string | undefined
  /** A file, or a folder, of the page's subject. */
  file(path: string): string
  /** A folder of the page's subject; undefined: it cannot be opened. */
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
  /** Parts of it are replaced while it is open. */
  readonly isLive?: true
  /**
   * The policy in the page itself; undefined: whoever sends it adds one.
   * @param showsCopies it shows untrusted HTML in frames, which its policy also controls
   */
  policy(showsCopies: boolean): string | undefined
  /** The beginning of all pages: links to the others. */
  readonly banner?: Html
  /** An output with its place, and how it may be shown. */
  shown(output: Output): ShownOutput
}

export interface ShownOutput extends Output {
  readonly href: string
  /** Of its small picture. */
  readonly picture?: string
  /** The text of a document that must not be opened directly: gzip, in base64. */
  readonly packed?: string
}
