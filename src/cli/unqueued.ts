import type { Retried } from '../machines/retry.ts'
import { many } from './format.ts'
import { onStderr } from './screen/palette.ts'
import { terminal } from './terminal.ts'

/** Says what was not queued again, and why, and what runs on other nodes. */
export function sayUnqueued({ adopted, elsewhere, lost }: Pick<Retried, 'adopted' | 'elsewhere' | 'lost'>): void {
  if (adopted.length > 0) terminal.say(adoptedNote(adopted))
  for (const { name, pages } of lost) {
    const way = onStderr.bold(`node forget ${name}`)
    const those = `${many(pages, 'page')} ${pages === 1 ? 'is' : 'are'}`
    terminal.say(`left unchanged: ${those} on node ${name}, which is lost: ${way}, then retry`)
  }
  for (const { name, pages } of elsewhere) terminal.say(`runs on node ${name}: ${many(pages, 'page')}`)
}

/** Explains why adopted crawls were not run again. */
function adoptedNote(crawls: readonly string[]): string {
  const which = crawls.length === 1 ? `crawl ${crawls[0]}` : many(crawls.length, 'crawl')
  const way = onStderr.bold('archivebox-ts add --again URL')
  return `left unchanged: ${which}, whose pages another program archived; ${way} archives a page anew`
}
