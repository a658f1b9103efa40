import { Parser } from 'htmlparser2'

/** Readability's time grows with the square of the depth. Ordinary pages stay below 100. */
const MAX_DEPTH = 256
/** Elements, comments and pieces of text. A long encyclopedia article has half of that. */
const MAX_NODES = 100_000

/** Elements whose text is not content: navigation, and what is not displayed. */
export const BESIDE = new Set('script style template noscript nav header footer aside select button svg'.split(' '))

/** An amount of text, in characters other than blanks. */
export interface TextSize {
  all: number
  /** The part of it in links. */
  links: number
}

/** The result of one pass over a page. */
export interface Survey {
  /** Why it is too complex for a tree, in a few words; undefined when it is not. */
  readonly tooComplex: string | undefined
  /** The text of the page without navigation and the like. */
  readonly page: TextSize
  /** The text of the page's marked main part: `main`, else its only `article`. */
  readonly main: TextSize | undefined
}

/**
 * Examines a page before a tree is built: one pass of the parser that would build it, ended as soon as a limit is
 * exceeded, because a page can be made such that its tree takes hours.
 */
export function surveyPage(html: string): Survey {
  let depth = 0
  let nodes = 0
  let tooComplex: string | undefined
  const open = { beside: 0, a: 0, main: 0, article: 0 }
  const page = { all: 0, links: 0 }
  const parts = { main: { all: 0, links: 0 }, article: { all: 0, links: 0 } }
  const begun = { main: 0, article: 0 }
  const give = (up: string) => {
    tooComplex = up
    parser.pause()
  }
  const count = () => {
    if (++nodes > MAX_NODES) give(`more than ${MAX_NODES} elements and pieces of text`)
  }
  const step = (name: string, by: 1 | -1) => {
    depth += by
    if (name === 'main' || name === 'article') {
      if (by > 0 && open[name] === 0) begun[name] += 1
      open[name] += by
    } else if (name === 'a') open.a += by
    // The header of an article contains its title.
    else if (BESIDE.has(name) && !(name === 'header' && open.main + open.article > 0)) open.beside += by
  }
  const add = (size: TextSize, characters: number) => {
    size.all += characters
    if (open.a > 0) size.links += characters
  }
  const parser = new Parser({
    onopentagname(name) {
      count()
      step(name, 1)
      if (depth > MAX_DEPTH) give(`nested deeper than ${MAX_DEPTH} elements`)
    },
    onclosetag(name) {
      step(name, -1)
    },
    ontext(text) {
      count()
      if (open.beside > 0) return
      const characters = solid(text)
      add(page, characters)
      if (open.main > 0) add(parts.main, characters)
      if (open.article > 0) add(parts.article, characters)
    },
    oncomment: count,
  })
  parser.write(html)
  parser.end()
  const main = begun.main > 0 ? parts.main : begun.article === 1 ? parts.article : undefined
  return { tooComplex, page, main }
}

/** The number of characters other than blanks. */
export function solid(text: string): number {
  let characters = 0
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) > 32) characters += 1
  return characters
}
