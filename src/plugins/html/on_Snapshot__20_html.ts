#!/usr/bin/env node
// The page as served, in a form that shows the right characters when it is opened from disk.
import { pageForDisk } from '../base/charset.ts'
import { writeWhole } from '../base/files.ts'
import { defineHook, noResults, succeeded } from '../base/hook.ts'
import { fetchPage } from '../base/page.ts'
import { staticFile } from '../base/siblings.ts'

export default defineHook(import.meta, {
  plugin: 'html',
  async run(context) {
    const file = staticFile(context)
    if (file !== undefined) return noResults(`not a page: staticfile/${file}`)
    const page = await fetchPage(context)
    if ('status' in page) return page
    writeWhole(context.outputDir, 'output.html', pageForDisk(page.bytes, page.encoding))
    return succeeded('html/output.html')
  },
})
