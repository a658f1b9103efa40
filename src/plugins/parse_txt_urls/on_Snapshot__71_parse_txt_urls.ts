#!/usr/bin/env node
// The URLs in a plain text, in Markdown or in a table, as Snapshot records one level deeper.
import { defineListHook } from '../base/list-hook.ts'

/** Not scripts and styles, although they are text, too. */
const TEXTS = new Set(['', 'text/plain', 'text/markdown', 'text/x-markdown', 'text/csv', 'text/tab-separated-values'])

export default defineListHook(import.meta, {
  plugin: 'parse_txt_urls',
  most: 'PARSE_TXT_URLS_MAX_URLS',
  isOurs: ({ format, mime }) => (format === 'txt' || format === 'csv') && TEXTS.has(mime),
})
