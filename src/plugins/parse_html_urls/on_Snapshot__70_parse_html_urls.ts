#!/usr/bin/env node
// The links of a page, as Snapshot records one level deeper.
import { count } from '../../base/env-settings.ts'
import { writeWhole } from '../../base/whole-file.ts'
import { snapshotDepth } from '../../hooks/result-record.ts'
import { defineHook, noResults, succeeded } from '../base/hook.ts'
import { loadPage } from '../base/page.ts'
import { findLinks } from './find-links.ts'

const DEFAULT_MAX_URLS = 50_000

export default defineHook(import.meta, {
  plugin: 'parse_html_urls',
  async run(context) {
    const max = count(context.env, 'PARSE_HTML_URLS_MAX_URLS', DEFAULT_MAX_URLS)
    const page = await loadPage(context)
    if ('status' in page) return page
    const urls = findLinks(page.html, page.url, [context.url], max)
    if (urls.length === 0) return noResults('0 URLs parsed')

    const depth = snapshotDepth(context.env) + 1
    const records = urls.map((url) => ({ type: 'Snapshot', url, plugin: 'parse_html_urls', depth }))
    writeWhole(context.outputDir, 'urls.jsonl', records.map((record) => `${JSON.stringify(record)}\n`).join(''))
    for (const record of records) context.emit(record)
    return succeeded(`${urls.length} URLs parsed${urls.length === max ? ' (PARSE_HTML_URLS_MAX_URLS)' : ''}`)
  },
})
