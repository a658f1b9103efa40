#!/usr/bin/env node
// The entries of a feed (RSS, Atom, RDF, JSON Feed), a sitemap or a list of feeds (OPML), as Snapshot records one level
// deeper.
import { defineListHook } from '../base/list-hook.ts'

export default defineListHook(import.meta, {
  plugin: 'parse_rss_urls',
  most: 'PARSE_RSS_URLS_MAX_URLS',
  isOurs: ({ format, start }) => format === 'rss' || format === 'opml' || (format === 'json' && isJsonFeed(start)),
})

function isJsonFeed(start: string): boolean {
  return /"version"\s*:\s*"https?:(?:\\?\/){2}jsonfeed\.org/.test(start)
}
