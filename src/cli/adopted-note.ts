import { many } from './format.ts'
import { onStderr } from './screen/palette.ts'

/** Explains why adopted crawls were not run again. */
export function adoptedNote(crawls: readonly string[]): string {
  const which = crawls.length === 1 ? `crawl ${crawls[0]}` : many(crawls.length, 'crawl')
  const way = onStderr.bold('archivebox-ts add --again URL')
  return `left unchanged: ${which}, whose pages another program archived; ${way} archives a page anew`
}
