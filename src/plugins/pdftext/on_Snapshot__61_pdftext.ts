#!/usr/bin/env node
// The text of a PDF, page by page, and its metadata.
import { readFileSync } from 'node:fs'
import { count, sizeLimit, tooLarge } from '../../base/env-settings.ts'
import { writeJson, writeWhole } from '../../base/whole-file.ts'
import { defineHook, noResults, succeeded } from '../base/hook.ts'
import { servedFile } from '../base/served-file.ts'

const DEFAULT_MAX_SIZE = 100 * 1024 * 1024
const DEFAULT_MAX_PAGES = 5_000

export default defineHook(import.meta, {
  plugin: 'pdftext',
  async run(context) {
    const file = servedFile(context)
    if ('status' in file) return file
    // As PDF readers do: something else may precede it.
    if (file.head.subarray(0, 1024).indexOf('%PDF-') < 0) return noResults('not a PDF')
    const limit = sizeLimit(context.env, 'PDFTEXT_MAX_SIZE', DEFAULT_MAX_SIZE)
    if (file.size > limit.bytes) return noResults(tooLarge(limit).message)
    // Loaded only here: the reader is large.
    const { readPdf } = await import('./read-pdf.ts')
    const most = count(context.env, 'PDFTEXT_MAX_PAGES', DEFAULT_MAX_PAGES)
    const { text, ...about } = await readPdf(readFileSync(file.path), most, context.signal)
    if (text === '') return noResults(`no text on ${about.pages} pages: scanned, or in fonts that do not tell`)
    writeWhole(context.outputDir, 'content.txt', `${text}\n`)
    writeJson(context.outputDir, 'metadata.json', { file: `staticfile/${file.name}`, ...about })
    return succeeded('pdftext/content.txt', { pages: about.pages, pages_without_text: about.pages_without_text })
  },
})
