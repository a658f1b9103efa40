#!/usr/bin/env node
// The visit of a page; the other browser plugins take their captures from its tab.
import { STATUS_CODES } from 'node:http'
import { AppError } from '../../base/errors.ts'
import { writeJson } from '../../base/whole-file.ts'
import { BrowserGone, TabCrashed } from '../../browse/browser/cdp.ts'
import type { VisitedTab } from '../../browse/browser/visit-page.ts'
import { defineHook, failed, noResults, succeeded } from '../base/hook.ts'
import { staticFile } from '../base/siblings.ts'
import { withTab } from '../base/with-tab.ts'

export default defineHook(import.meta, {
  plugin: 'chrome',
  async run(context) {
    const use = async ({ visited }: VisitedTab) => {
      const { http_status: status, settled, broken_off: trouble } = visited
      if (status !== null) context.answered?.(status)
      if (status !== null && status >= 400) throw new AppError(`HTTP ${status} ${STATUS_CODES[status] ?? ''}`.trimEnd())
      writeJson(context.outputDir, 'navigation.json', visited)
      if (!settled) context.log('The page did not come to rest; what it showed by then counts.')
      if (trouble !== null) return failed(`${trouble}; kept as far as it came`)
      return succeeded('chrome/navigation.json')
    }
    try {
      return await withTab(context, use, true)
    } catch (error) {
      const isFile = staticFile(context) !== undefined && error instanceof AppError
      if (!isFile || error instanceof BrowserGone || error instanceof TabCrashed) throw error
      return noResults(`the browser does not show it: ${error.message}`)
    }
  },
})
