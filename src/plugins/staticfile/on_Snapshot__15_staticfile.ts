#!/usr/bin/env node
// Saves a URL that is itself a file (PDF, image, archive, plain text, ...) unchanged, and leaves pages to the others.
import { readdirSync, rmSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { type SizeLimit, sizeLimit } from '../../base/env-settings.ts'
import { extensionOf } from '../../base/mime.ts'
import { makeDir, PART } from '../../base/whole-file.ts'
import type { Answer } from '../../browse/http/answer.ts'
import { statusLine } from '../../browse/http/answer.ts'
import { chunksOf, saveBody } from '../../browse/http/body.ts'
import { isPage, looksLikeHtml, parseContentType } from '../../browse/http/content-type.ts'
import { fileName } from '../../browse/http/file-name.ts'
import { fetchPage } from '../../browse/index.ts'
import type { HookContext } from '../../hooks/contract.ts'
import { defineHook, failed, lacking, noResults, saved, truncated } from '../base/hook.ts'
import { ERROR_FILE, isWholeFile, siblingHeaders, siblingRan, TRUNCATED_FILE } from '../base/siblings.ts'

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

    const answer = await fetchPage(context)
    const { mime } = parseContentType(answer.headers['content-type'])
    if (EMPTY.has(answer.status)) {
      await startOf(answer, limit, context.signal) // To its end, so that the WARC has it whole.
      return noResults(`an empty answer (${statusLine(answer)})`)
    }
    if (isPage(answer.headers)) return noResults(mime)
    if (mime === '' && looksLikeHtml(await startOf(answer, limit, context.signal)))
      return noResults('a page without a content type')
    return await save(answer, limit, context)
  },
})

async function save(answer: Answer, limit: SizeLimit, { outputDir, signal }: HookContext) {
  const { mime } = parseContentType(answer.headers['content-type'])
  const name = fileName(answer.url, answer.headers['content-disposition'], mime)
  makeDir(outputDir)
  const part = join(outputDir, PART)
  const isOk = answer.status >= 200 && answer.status <= 299
  try {
    const { size, trouble } = await saveBody(answer, limit, part, signal)
    if (trouble && size === 0) throw trouble
    if (size === 0) {
      rmSync(part)
      return isOk ? noResults(`an empty answer (${statusLine(answer)})`) : failed(statusLine(answer))
    }
    const kept = isOk ? `${trouble ? TRUNCATED_FILE : ''}${name}` : errorName(name, mime)
    await rename(part, join(outputDir, kept))
    const path = `staticfile/${kept}`
    const json = { content_type: mime }
    if (!isOk) return failed(statusLine(answer), { ...json, served: path })
    if (trouble) return truncated(trouble.message, size, path, json)
    for (const old of readdirSync(outputDir)) // An earlier attempt's.
      if (old !== kept && !isWholeFile(old)) rmSync(join(outputDir, old))
    return saved(path, answer, json)
  } catch (error) {
    rmSync(part, { force: true })
    throw error
  }
}

/** The name of what was sent instead of a file, with the extension of what it is. */
function errorName(name: string, mime: string): string {
  const extension = extensionOf(mime)
  return `${ERROR_FILE}${name}${name.endsWith(extension) ? '' : extension}`
}

async function startOf(answer: Answer, limit: SizeLimit, signal: AbortSignal): Promise<Buffer> {
  for await (const chunk of chunksOf(answer, limit, signal)) return chunk
  return Buffer.alloc(0)
}
