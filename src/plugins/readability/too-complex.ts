import { Parser } from 'htmlparser2'

/** Readability's time grows with the square of the depth. Ordinary pages stay below 100. */
const MAX_DEPTH = 256
/** Elements, comments and pieces of text. A long encyclopedia article has half of that. */
const MAX_NODES = 100_000

/**
 * Why a page is too much for a tree, in a few words; undefined when it is not. One pass of the parser that would build the tree, without
 * building it, and over as soon as a limit is passed: a page can be made such that its tree takes hours.
 */
export function tooComplex(html: string): string | undefined {
  let depth = 0
  let nodes = 0
  let reason: string | undefined
  const give = (up: string) => {
    reason = up
    parser.pause()
  }
  const count = () => {
    if (++nodes > MAX_NODES) give(`more than ${MAX_NODES} elements and pieces of text`)
  }
  const parser = new Parser({
    onopentagname() {
      count()
      if (++depth > MAX_DEPTH) give(`nested deeper than ${MAX_DEPTH} elements`)
    },
    onclosetag() {
      depth--
    },
    ontext: count,
    oncomment: count,
  })
  parser.write(html)
  return reason
}
