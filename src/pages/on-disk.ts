import { join, relative } from 'node:path'
import { pageAssets } from './assets.ts'
import { copiesFile } from './copies.ts'
import { href, listLinks } from './links.ts'
import { packed } from './packed-copies.ts'
import type { Place } from './place.ts'

/**
 * What the page allows itself to load: files beside it, and nothing from anywhere else. For a browser no file counts as
 * `self`.
 */
const POLICY = [
  "default-src 'none'",
  ...['script', 'style', 'img', 'media', 'font', 'frame', 'object'].map((kind) => `${kind}-src 'self' file: data:`),
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')
/** Copies have inline styles, and are told where the files beside them are. */
const COPIES_POLICY = POLICY.replace('style-src', "style-src 'unsafe-inline'").replace(
  "base-uri 'none'",
  "base-uri 'self' file:",
)

/**
 * The place of a page that must open from disk for ever: it loads files of the data dir, whose names depend on their
 * content.
 * @param folder of the page, relative to the data dir
 */
export function onDisk(dataDir: string, folder: string): Place {
  const top = relative(folder, '.') || '.'
  const { style, script } = pageAssets()
  return {
    ...listLinks(top),
    top,
    style: `${top}/${style}`,
    script: `${top}/${script}`,
    comesAgain: true,
    archive: `${top}/index.html`,
    crawl: (crawl) => (crawl.isAway ? undefined : `${href(relative(folder, crawl.folder))}/index.html`),
    file: href,
    folder: (path) => `${href(path)}/`,
    sandbox: 'allow-same-origin',
    records: 'index.jsonl',
    copies: (urlHash) => `${top}/${copiesFile(urlHash)}`,
    policy: (showsCopies) => (showsCopies ? COPIES_POLICY : POLICY),
    shown: (output) => ({
      ...packed(join(dataDir, folder), output),
      href: href(output.path),
      ...(output.thumbnail !== undefined && { picture: href(output.thumbnail) }),
    }),
  }
}
