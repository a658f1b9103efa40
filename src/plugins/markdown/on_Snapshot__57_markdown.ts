#!/usr/bin/env node
// The article as Markdown.
import { sizeLimit, tooLarge } from '../../base/env-settings.ts'
import { writeWhole } from '../../base/whole-file.ts'
import { defineHook, lacking, noResults, succeeded } from '../base/hook.ts'
import { comesLater, readSibling, siblingRan, staticFile } from '../base/siblings.ts'

const DEFAULT_MAX_SIZE = 5 * 1024 * 1024

export default defineHook(import.meta, {
  plugin: 'markdown',
  async run(context) {
    const file = staticFile(context)
    if (file !== undefined) return noResults(`not a page: staticfile/${file}`)
    if (comesLater(context, 'dom')) return lacking('dom')
    const article = readSibling(context, 'readability/content.html')
    if (!article) return siblingRan(context, 'readability') ? lacking('readability') : noResults('no article')
    const limit = sizeLimit(context.env, 'MARKDOWN_MAX_SIZE', DEFAULT_MAX_SIZE)
    if (article.length > limit.bytes) return noResults(tooLarge(limit).message)
    // Loaded only here: they bring parsers.
    const { frontMatter, mainPart } = await import('./article.ts')
    const { tooMuch } = await import('./too-much.ts')
    const html = mainPart(article.toString())
    const why = tooMuch(html)
    if (why !== undefined) return noResults(why)
    const about = readSibling(context, 'readability/article.json')
    const { toMarkdown } = await import('./to-markdown.ts')
    const text = toMarkdown(html)
    if (text === '') return noResults('no text')
    writeWhole(context.outputDir, 'content.md', `${frontMatter(about?.toString(), context.url)}${text}\n`)
    return succeeded('markdown/content.md')
  },
})
