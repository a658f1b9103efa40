#!/usr/bin/env node
// The article of a page without what surrounds it: HTML, text, and what is known about it.
import { writeJson, writeWhole } from '../base/files.ts'
import { defineHook, noResults, succeeded } from '../base/hook.ts'
import { loadPage } from '../base/page.ts'
import { pageTitle } from '../base/page-title.ts'
import { sizeLimit, tooLarge } from '../base/settings.ts'
import { articleDocument } from './article-document.ts'
import { maxDepth } from './max-depth.ts'

const DEFAULT_MAX_SIZE = 10 * 1024 * 1024
/** Readability's time grows with the square of the depth. Browsers themselves stop at 512 nested elements. */
const MAX_DEPTH = 512
const MAX_ELEMENTS = 100_000

export default defineHook(import.meta, {
  plugin: 'readability',
  async run(context) {
    const limit = sizeLimit(context.env, 'READABILITY_MAX_SIZE', DEFAULT_MAX_SIZE)
    const page = await loadPage(context)
    if ('status' in page) return page
    if (page.html.length > limit.bytes) return noResults(tooLarge(limit).message)
    const { depth, elements } = maxDepth(page.html, MAX_DEPTH)
    if (depth > MAX_DEPTH) return noResults(`nested deeper than ${MAX_DEPTH} elements`)
    if (elements > MAX_ELEMENTS) return noResults(`more than ${MAX_ELEMENTS} elements`)

    // Loaded here: a tree is expensive, and only this hook needs one.
    const { extractArticle } = await import('./extract-article.ts')
    const article = extractArticle(page.html, page.url)
    if (!article) return noResults('no article found')
    const { content, textContent, ...about } = article
    const title = about.title || pageTitle(page.html)
    writeWhole(context.outputDir, 'content.html', articleDocument(content, { ...about, title }))
    writeWhole(context.outputDir, 'content.txt', `${textContent.trim()}\n`)
    writeJson(context.outputDir, 'article.json', { ...about, title, url: page.url })
    return succeeded('readability/content.html')
  },
})
