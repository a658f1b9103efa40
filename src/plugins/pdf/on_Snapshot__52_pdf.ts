#!/usr/bin/env node
// The page as a PDF with its text, an outline from its headings, and tags for screen readers.
import { createWriteStream, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Tab } from '../base/browser/tab.ts'
import { capture } from '../base/browser/with-tab.ts'
import { PART } from '../base/files.ts'
import { defineHook, succeeded } from '../base/hook.ts'

export default defineHook(import.meta, {
  plugin: 'pdf',
  run: (context) =>
    capture(context, async ({ tab }) => {
      const { stream } = await tab.send('Page.printToPDF', {
        printBackground: true,
        generateDocumentOutline: true,
        generateTaggedPDF: true,
        transferMode: 'ReturnAsStream',
      })
      const part = join(context.outputDir, PART)
      try {
        await pipeline(Readable.from(pieces(tab, stream!)), createWriteStream(part))
        renameSync(part, join(context.outputDir, 'output.pdf'))
      } finally {
        rmSync(part, { force: true })
      }
      return succeeded('pdf/output.pdf')
    }),
})

async function* pieces(tab: Tab, handle: string): AsyncGenerator<Buffer, void> {
  while (true) {
    const { data, base64Encoded, eof } = await tab.send('IO.read', { handle, size: 1024 * 1024 })
    yield Buffer.from(data, base64Encoded ? 'base64' : 'utf8')
    if (eof) break
  }
  await tab.send('IO.close', { handle })
}
