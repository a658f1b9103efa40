import { Readability } from '@mozilla/readability'
import { pageTitle } from '../../browse/html/page-title.ts'
import { type DomElement, makeInert, readableText, wholeDocument } from './dom.ts'
import { type Survey, solid } from './survey.ts'
import { wholeText } from './whole-text.ts'

export interface Article {
  readonly title: string
  readonly byline: string | null
  readonly excerpt: string | null
  readonly siteName: string | null
  readonly lang: string | null
  readonly dir: string | null
  readonly publishedTime: string | null
  /** Characters of `textContent`. */
  readonly length: number
  /**
   * `readability`: its choice of the article; `whole`: all text of the page, because the article was less than half.
   */
  readonly extent: 'readability' | 'whole'
  /** The fraction of the page's text that was kept, from 0 to 1. */
  readonly kept: number
  /** Inert HTML: no scripts, no event handlers; links and pictures are absolute. */
  readonly content: string
  readonly textContent: string
}

/** Reference pages consist of links, which are their text rather than navigation. The types lack this option. */
const LINKS_ARE_TEXT = { linkDensityModifier: 1 }
/** Fewer characters are no article, whatever else is on the page. */
const SHORT = 1_000

/**
 * The article in a page at `url`; undefined when there is none. Readability finds it; for reference and index pages it
 * may miss most of the text, and then the page is kept whole. Time grows with the size and nesting of the page, so
 * `survey` must have found it simple enough.
 */
export function extractArticle(html: string, url: string, survey: Survey): Article | undefined {
  const { document } = wholeDocument(html, url)
  const [main, another] = document.querySelectorAll('main,[role=main]')
  if (!another) main?.setAttribute(MAIN, '')
  const found = new Readability<DomElement>(document as never, {
    serializer: (node) => node as unknown as DomElement,
    ...LINKS_ARE_TEXT,
  }).parse()
  if (found?.content) makeInert(found.content)
  let root = found?.content ? withoutSurroundings(found.content) : undefined
  let text = root ? readableText(root) : ''
  const extent = lacksMost(solid(text), survey) ? 'whole' : 'readability'
  if (extent === 'whole') {
    root = wholeText(html, url)
    text = readableText(root)
  }
  if (!root || text === '') return undefined
  return {
    title: wholeTitle(found?.title ?? '', pageTitle(html)),
    byline: /\p{L}/u.test(found?.byline ?? '') ? found!.byline! : null,
    excerpt: found?.excerpt ?? null,
    siteName: found?.siteName ?? null,
    lang: found?.lang ?? null,
    dir: found?.dir ?? null,
    publishedTime: found?.publishedTime ?? null,
    length: text.length,
    extent,
    kept: survey.page.all === 0 ? 1 : Math.min(1, Number((solid(text) / survey.page.all).toFixed(3))),
    content: root.innerHTML,
    textContent: text,
  }
}

/** Readability renames some elements, but keeps this attribute. */
const MAIN = 'data-main'

/** The marked main part of a page has no menus and hidden help around it, which Readability may take for text. */
function withoutSurroundings(article: DomElement): DomElement {
  const main = article.querySelector(`[${MAIN}]`)
  main?.removeAttribute(MAIN)
  return main?.textContent?.trim() ? main : article
}

/**
 * The page's own title if its beginning was mistaken for the name of a site: of `HTTP/2 | Node.js` that left `2 |
 * Node.js`.
 */
function wholeTitle(title: string, own: string): string {
  return own.endsWith(title) ? own : title
}

/**
 * Less than half of the page's text. When a page does not mark its main part, links count only if there is hardly any
 * article: a newspaper's article is surrounded by many.
 */
function lacksMost(article: number, { page, main }: Survey): boolean {
  const { all, links } = main ?? page
  if (article < (all - links) / 2) return true
  return article < all / 2 && (main !== undefined || article < SHORT)
}
