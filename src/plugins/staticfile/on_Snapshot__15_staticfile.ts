#!/usr/bin/env node
// Saves a URL that is itself a file (PDF, image, archive, plain text, ...) as it is, and leaves pages to the others.
import { chunksOf, saveChunks } from '../base/body.ts'
import { isHtml, looksLikeHtml, parseContentType } from '../base/content-type.ts'
import { get, statusLine } from '../base/fetch.ts'
import { defineHook, failed, lacking, noResults, succeeded } from '../base/hook.ts'
import { sizeLimit } from '../base/settings.ts'
import { siblingHeaders, siblingRan } from '../base/siblings.ts'
import { fileName } from './file-name.ts'

const DEFAULT_MAX_SIZE = 750 * 1024 * 1024

/** Answers without a body. */
const EMPTY = new Set([204, 205])

export default defineHook(import.meta, {
  plugin: 'staticfile',
  async run(context) {
    const limit = sizeLimit(context.env, 'STATICFILE_MAX_SIZE', DEFAULT_MAX_SIZE)
    const known = siblingHeaders(context)
    if (known && isPage(known.headers)) return noResults(parseContentType(String(known.headers['content-type'])).mime)
    if (!known && siblingRan(context, 'headers')) return lacking('headers')

    const answer = await get(context, context.url, 'identity')
    const { mime } = parseContentType(answer.headers['content-type'])
    if (isPage(answer.headers) || EMPTY.has(answer.status)) {
      answer.body.destroy()
      return noResults(EMPTY.has(answer.status) ? statusLine(answer) : mime)
    }
    const chunks = chunksOf(answer, limit)
    const start = await chunks.next()
    const first = start.done ? undefined : start.value
    if (mime === '' && looksLikeHtml(first ?? new Uint8Array())) {
      await chunks.return()
      return noResults('a page without a content type')
    }
    const name = fileName(answer.url, answer.headers['content-disposition'], mime)
    await saveChunks(startingWith(first, chunks), context.outputDir, name)
    const isError = answer.status < 200 || answer.status > 299
    if (isError) return failed(statusLine(answer), { content_type: mime, served: `staticfile/${name}` })
    return succeeded(`staticfile/${name}`, { content_type: mime })
  },
})

/** HTML to look at. As an attachment it is a file to keep; without a type, its bytes decide. */
function isPage(headers: Readonly<Record<string, unknown>>): boolean {
  return (
    isHtml(parseContentType(String(headers['content-type'] ?? '')).mime) &&
    !/^\s*attachment\b/i.test(String(headers['content-disposition'] ?? ''))
  )
}

async function* startingWith(first: Buffer | undefined, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  if (first) yield first
  yield* rest
}
