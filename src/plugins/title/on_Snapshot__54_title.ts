#!/usr/bin/env node
// The title of a page.
import { writeWhole } from '../../base/whole-file.ts'
import { pageTitle } from '../../browse/html/page-title.ts'
import { defineHook, noResults, succeeded } from '../base/hook.ts'
import { loadPage } from '../base/page.ts'

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
