#!/usr/bin/env node
import { STATUS_CODES } from 'node:http'
// The visit of a page, from whose tab the other browser plugins take what they save.
import { AppError } from '../../base/errors.ts'
import { withTab } from '../base/browser/with-tab.ts'
import { writeJson } from '../base/files.ts'
import { defineHook, failed, succeeded } from '../base/hook.ts'

export default defineHook(import.meta, {
  plugin: 'chrome',
  async run(context) {
    return await withTab(context, async ({ visited }) => {
      const { http_status: status, settled, broken_off: trouble } = visited
      if (status !== null) context.answered?.(status)
      if (status !== null && status >= 400) throw new AppError(`HTTP ${status} ${STATUS_CODES[status] ?? ''}`.trimEnd())
      writeJson(context.outputDir, 'navigation.json', visited)
      if (!settled) context.log('The page did not come to rest; what it showed by then counts.')
      if (trouble !== null) return failed(`${trouble}; kept as far as it came`)
      return succeeded('chrome/navigation.json')
    })
  },
})
