import TurndownService from 'turndown'
import type { Element } from './element.ts'
import { addTables, withoutMarks } from './tables.ts'

const MOST_BLANKS = 200
const LONG_BLANK = /(?<!\s)\s{200,}/g

/** Markdown (GitHub's) of an HTML fragment with absolute links, in time linear to its size. */
export function toMarkdown(html: string): string {
  const service = new TurndownService({
    headingStyle: 'atx',
    codeBlockStyle: 'fenced',
    bulletListMarker: '-',
    hr: '---',
    emDelimiter: '*',
  })
  addTables(service)
  service.addRule('codeBlock', {
    filter: 'pre',
    replacement: (_content, node) => codeBlock(node as unknown as Element),
  })
  service.addRule('deleted', {
    filter: ['del', 's'],
    replacement: (content) => (content.trim() === '' ? content : `~~${content}~~`),
  })
  service.addRule('task', {
    filter: (node) => node.nodeName === 'INPUT' && (node as unknown as Element).getAttribute('type') === 'checkbox',
    replacement: (_content, node) => ((node as unknown as Element).getAttribute('checked') === null ? '[ ]' : '[x]'),
  })
  // The sign beside a heading by which it can be linked.
  service.addRule('permalink', {
    filter: (node) => node.nodeName === 'A' && isPermalink(node as unknown as Element),
    replacement: () => '',
  })
  // Turndown looks for the end of a run of blanks from each of them.
  return service.turndown(withoutMarks(html).replace(LONG_BLANK, (run) => run.slice(0, MOST_BLANKS))).trim()
}

function codeBlock(pre: Element): string {
  const code = (pre.textContent ?? '').replace(/^\n|(?<!\s)\s+$/g, '')
  const longest = Math.max(2, ...[...code.matchAll(/^ {0,3}(`{3,})/gm)].map(([, ticks]) => ticks!.length))
  const fence = '`'.repeat(longest + 1)
  return `\n\n${fence}${pre.getAttribute('data-language') ?? ''}\n${code}\n${fence}\n\n`
}

function isPermalink({ parentNode, textContent }: Element): boolean {
  return /^H[1-6]$/.test(parentNode?.nodeName ?? '') && !/[\p{L}\p{N}]/u.test(textContent ?? '')
}
