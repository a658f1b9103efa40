#!/usr/bin/env node
// The metadata of a page for search engines and social networks.
import { writeJson } from '../../base/whole-file.ts'
import { defineHook, noResults, succeeded } from '../base/hook.ts'
import { loadPage } from '../base/page.ts'
import { aboutItself } from './about-itself.ts'

export default defineHook(import.meta, {
  plugin: 'seo',
  async run(context) {
    const page = await loadPage(context)
    if ('status' in page) return page
    const about = aboutItself(page.html)
    if (Object.keys(about).length === 0) return noResults('the page says nothing about itself')
    writeJson(context.outputDir, 'seo.json', { url: page.url, ...about })
    return succeeded('seo/seo.json')
  },
})
