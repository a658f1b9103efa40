import TurndownService from 'turndown'
import type { Element } from './element.ts'
import { addTables, withoutMarks } from './tables.ts'

const MOST_BLANKS = 200
/** Text that Markdown takes for HTML, which a viewer may run. */
const TAG = /<(?=[a-z!?/])/gi
/** The line below the head of a table. */
const RULE = /^[\s:|-]+$/
/** At both ends of inline code: a character that no text has (tables.ts). */
const SPAN = '\ufdd3'
const LANGUAGE = /^[\w+#.-]{1,40}$/
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
  const ofMarkdown = service.escape.bind(service)
  service.escape = (text) => {
    const escaped = ofMarkdown(text).replace(TAG, '\\<')
    return RULE.test(text) ? escaped.replaceAll('|', '\\|') : escaped
  }
  addTables(service)
  service.addRule('link', {
    filter: (node) => node.nodeName === 'A' && attribute(node, 'href') !== '',
    replacement: (content, node) => `[${content}](${address(attribute(node, 'href'))}${titleOf(node)})`,
  })
  service.addRule('picture', {
    filter: 'img',
    replacement(_content, node) {
      const src = attribute(node, 'src')
      return src === '' ? '' : `![${service.escape(attribute(node, 'alt'))}](${address(src)}${titleOf(node)})`
    },
  })
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
  service.addRule('code', {
    filter: (node) => node.nodeName === 'CODE' && node.parentNode?.nodeName !== 'PRE',
    replacement: (content) => (content.trim() === '' ? content : SPAN + codeSpan(content) + SPAN),
  })
  // The sign beside a heading that links to it.
  service.addRule('permalink', {
    filter: (node) => node.nodeName === 'A' && isPermalink(node as unknown as Element),
    replacement: () => '',
  })
  // For a run of blanks, Turndown would look for its end from each of them.
  const text = service.turndown(withoutMarks(html).replace(LONG_BLANK, (run) => run.slice(0, MOST_BLANKS))).trim()
  // Two adjacent spans would be read as one.
  return text.replaceAll(SPAN + SPAN, ' ').replaceAll(SPAN, '')
}

/** Inline code, between more backticks than it has in a row. */
function codeSpan(text: string): string {
  const code = text.replace(/\r?\n|\r/g, ' ')
  const longest = Math.max(0, ...[...code.matchAll(/`+/g)].map(([ticks]) => ticks.length))
  const ticks = '`'.repeat(longest + 1)
  const blank = /^`|`$|^ .*[^ ].* $/.test(code) ? ' ' : ''
  return ticks + blank + code + blank + ticks
}

function codeBlock(pre: Element): string {
  const code = (pre.textContent ?? '').replace(/^\n|(?<!\s)\s+$/g, '')
  const longest = Math.max(2, ...[...code.matchAll(/^[ \t]*(`{3,})/gm)].map(([, ticks]) => ticks!.length))
  const fence = '`'.repeat(longest + 1)
  const language = pre.getAttribute('data-language') ?? ''
  return `\n\n${fence}${LANGUAGE.test(language) ? language : ''}\n${code}\n${fence}\n\n`
}

/** An attribute in one line. */
function attribute(node: unknown, name: string): string {
  return ((node as Element).getAttribute(name) ?? '').replace(/\s+/g, ' ').trim()
}

const address = (url: string) => url.replace(/[\s<>\\`\p{Cc}]/gu, encodeURIComponent).replace(/[()]/g, '\\$&')

function titleOf(node: unknown): string {
  const title = attribute(node, 'title')
  return title === '' ? '' : ` "${title.replace(/[\\"<`]/g, '\\$&')}"`
}

function isPermalink({ parentNode, textContent }: Element): boolean {
  return /^H[1-6]$/.test(parentNode?.nodeName ?? '') && !/[\p{L}\p{N}]/u.test(textContent ?? '')
}
