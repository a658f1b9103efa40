#!/usr/bin/env node
// The article of a page without its surroundings: HTML, text and metadata.
import { sizeLimit, tooLarge } from '../../base/env-settings.ts'
import { writeJson, writeWhole } from '../../base/whole-file.ts'
import { defineHook, noResults, succeeded } from '../base/hook.ts'
import { loadPage } from '../base/page.ts'
import { articleDocument } from './article-document.ts'
import { openShadowRoots } from './shadow-roots.ts'
import { surveyPage } from './survey.ts'

const DEFAULT_MAX_SIZE = 10 * 1024 * 1024
export default defineHook(import.meta, {
  plugin: 'readability',
  async run(context) {
    const limit = sizeLimit(context.env, 'READABILITY_MAX_SIZE', DEFAULT_MAX_SIZE)
    const page = await loadPage(context)
    if ('status' in page) return page
    if (page.html.length > limit.bytes) return noResults(tooLarge(limit).message)
    const served = surveyPage(page.html)
    if (served.tooComplex !== undefined) return noResults(served.tooComplex)
    const html = openShadowRoots(page.html)
    const survey = html === page.html ? served : surveyPage(html)
    if (survey.tooComplex !== undefined) return noResults(survey.tooComplex)

    // Loaded only here: a tree is expensive, and no other hook needs one.
    const { extractArticle } = await import('./extract-article.ts')
    const { inertArticle } = await import('./inert-article.ts')
    const article = extractArticle(html, page.url, survey)
    if (!article) return noResults('no article found')
    const { content, textContent, ...about } = article
    writeWhole(context.outputDir, 'content.html', articleDocument(inertArticle(content), { ...about, url: page.url }))
    writeWhole(context.outputDir, 'content.txt', `${textContent.trim()}\n`)
    writeJson(context.outputDir, 'article.json', { ...about, url: page.url })
    return succeeded('readability/content.html')
  },
})
