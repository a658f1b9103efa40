#!/usr/bin/env node
// The page as served, in a form that shows the right characters when opened from disk.
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeWhole } from '../../base/whole-file.ts'
import { pageForDisk } from '../../browse/html/charset.ts'
import { defineHook, failed, noResults, saved, truncated } from '../base/hook.ts'
import { servedPage } from '../base/page.ts'
import { staticFile, TRUNCATED_PAGE } from '../base/siblings.ts'

const PAGE = 'html/output.html'
/** The body of an error response has a different name, so that nobody takes it for the page. */
const ERROR_PAGE = 'html/error.html'

export default defineHook(import.meta, {
  plugin: 'html',
  async run(context) {
    const file = staticFile(context)
    if (file !== undefined) return noResults(`not a page: staticfile/${file}`)
    const page = await servedPage(context)
    if ('status' in page) return page
    const at = (path: string) => join(context.outputDir, '..', path)
    const isTruncated = page.error === undefined && page.trouble !== undefined
    // A complete page from an earlier attempt is better than half of this one.
    if (isTruncated && existsSync(at(PAGE))) return failed(page.trouble)
    const bytes = pageForDisk(page.bytes, page.encoding)
    const path = page.error !== undefined ? ERROR_PAGE : isTruncated ? TRUNCATED_PAGE : PAGE
    writeWhole(context.outputDir, path.slice('html/'.length), bytes)
    if (page.error !== undefined) return failed(page.error, { served: path })
    if (isTruncated) return truncated(page.trouble, page.bytes.length, path)
    for (const old of [ERROR_PAGE, TRUNCATED_PAGE].map(at)) if (existsSync(old)) rmSync(old) // An earlier attempt's.
    return saved(path, page)
  },
})
