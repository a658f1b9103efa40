import { Parser } from 'htmlparser2'

/** How many elements a page has and how deeply they nest, as the parser of the tree would see it; gives up once it is deeper than `limit`. */
export function maxDepth(html: string, limit: number): { depth: number; elements: number } {
  let now = 0
  let depth = 0
  let elements = 0
  const parser = new Parser({
    onopentagname() {
      elements++
      now++
      if (now > depth) depth = now
      if (depth > limit) parser.pause()
    },
    onclosetag() {
      now--
    },
  })
  parser.write(html)
  return { depth, elements }
}
