#!/usr/bin/env node
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { sizeLimit } from '../../base/env-settings.ts'
import { writeWhole } from '../../base/whole-file.ts'
import { decodePage, encodingOf, UNDECLARED } from '../../browse/html/charset.ts'
// The icon of a site: the one that the page names, else /favicon.ico. At most one request.
import { statusLine } from '../../browse/http/answer.ts'
import { fetchPage } from '../../browse/index.ts'
import type { HookContext } from '../../hooks/contract.ts'
import { defineHook, lacking, noResults, succeeded } from '../base/hook.ts'
import { pageUrl, readSibling, siblingRan, staticFile, TRUNCATED_PAGE } from '../base/siblings.ts'
import { dataUrlBytes } from './data-url.ts'
import { iconUrl } from './icon-url.ts'
import { isImage, isSvg } from './image-type.ts'

const DEFAULT_MAX_SIZE = 1024 * 1024

export default defineHook(import.meta, {
  plugin: 'favicon',
  async run(context) {
    const page = readSibling(context, 'html/output.html') ?? readSibling(context, TRUNCATED_PAGE)
    if (!page && siblingRan(context, 'html') && staticFile(context) === undefined) return lacking('html')
    const url = iconUrl(page ? decodePage(page, encodingOf(page, UNDECLARED)) : '', pageUrl(context))
    const bytes = url.startsWith('data:') ? dataUrlBytes(url) : await download(context, url)
    if (typeof bytes === 'string') return noResults(bytes)
    if (!isImage(bytes)) return noResults(`not an image: ${url.slice(0, 200)}`)

    // ArchiveBox's readers look for favicon.ico, and browsers recognise bitmaps by their bytes, but an SVG only by its
    // name.
    const [name, other] = isSvg(bytes) ? ['favicon.svg', 'favicon.ico'] : ['favicon.ico', 'favicon.svg']
    writeWhole(context.outputDir, name, bytes)
    // The icon of an earlier run. (Checked first: rmSync is slow when there is nothing to remove.)
    const old = join(context.outputDir, other)
    if (existsSync(old)) rmSync(old)
    return succeeded(`favicon/${name}`)
  },
})

/** The bytes at `url`, or a line about why there are none. Throws AppError for network trouble. */
async function download(context: HookContext, url: string): Promise<Buffer | string> {
  const { readBody } = await import('../../browse/http/body.ts')
  const limit = sizeLimit(context.env, 'FAVICON_MAX_SIZE', DEFAULT_MAX_SIZE)
  const answer = await fetchPage(context, url)
  try {
    if (answer.status < 200 || answer.status > 299) return `no icon: ${statusLine(answer)}`
    const { bytes, trouble } = await readBody(answer, limit, context.signal)
    if (trouble) throw trouble
    return bytes
  } finally {
    if (url !== context.url) await answer.body.close()
  }
}
