#!/usr/bin/env node
// The links in JSON: one record per line, or a document of a bookmark service. As Snapshot records one level deeper.
import { defineListHook } from '../base/list-hook.ts'

export default defineListHook(import.meta, {
  plugin: 'parse_jsonl_urls',
  most: 'PARSE_JSONL_URLS_MAX_URLS',
  isOurs: ({ format, start }) => format === 'jsonl' || (format === 'json' && !start.includes('jsonfeed.org')),
})
