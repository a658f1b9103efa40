#!/usr/bin/env node
// The title of a page.
import { writeWhole } from '../base/files.ts'
import { defineHook, noResults, succeeded } from '../base/hook.ts'
import { loadPage } from '../base/page.ts'
import { pageTitle } from '../base/page-title.ts'

export default defineHook(import.meta, {
  plugin: 'title',
  async run(context) {
    const page = await loadPage(context)
    if ('status' in page) return page
    const title = pageTitle(page.html)
    if (title === '') return noResults('no title')
    writeWhole(context.outputDir, 'title.txt', title)
    return succeeded(title)
  },
})
