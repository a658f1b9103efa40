#!/usr/bin/env node
// The page as served, in a form that shows the right characters when opened from disk.
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pageForDisk } from '../base/charset.ts'
import { writeWhole } from '../base/files.ts'
import { defineHook, failed, noResults, succeeded } from '../base/hook.ts'
import { fetchPage } from '../base/page.ts'
import { staticFile } from '../base/siblings.ts'

/** The body of an error response has a name of its own, so that nobody takes it for the page. */
const ERROR_PAGE = 'error.html'

export default defineHook(import.meta, {
  plugin: 'html',
  async run(context) {
    const file = staticFile(context)
    if (file !== undefined) return noResults(`not a page: staticfile/${file}`)
    const page = await fetchPage(context)
    if ('status' in page) return page
    const bytes = pageForDisk(page.bytes, page.encoding)
    const error = join(context.outputDir, ERROR_PAGE)
    if (page.error !== undefined) {
      writeWhole(context.outputDir, ERROR_PAGE, bytes)
      return failed(page.error, { served: `html/${ERROR_PAGE}` })
    }
    if (existsSync(error)) rmSync(error) // An earlier attempt's.
    writeWhole(context.outputDir, 'output.html', bytes)
    return succeeded('html/output.html')
  },
})
