#!/usr/bin/env node
// The page as a PDF with its text, an outline from its headings, and tags for screen readers.
import { UNPIN } from '../base/browser/behaviours/unpin.ts'
import { UNROLL } from '../base/browser/behaviours/unroll.ts'
import { readStream } from '../base/browser/read-stream.ts'
import { captureShown } from '../base/browser/with-tab.ts'
import { evaluateIn, worldOf } from '../base/browser/worlds.ts'
import { writePieces } from '../base/files.ts'
import { defineHook, succeeded } from '../base/hook.ts'

export default defineHook(import.meta, {
  plugin: 'pdf',
  run: (context) =>
    captureShown(context, async ({ tab }) => {
      const { frameTree } = await tab.send('Page.getFrameTree')
      const world = await worldOf(tab, frameTree.frame.id)
      for (const behaviour of [UNROLL, UNPIN]) await evaluateIn(tab, world, behaviour)
      const { stream } = await tab.send('Page.printToPDF', {
        printBackground: true,
        generateDocumentOutline: true,
        generateTaggedPDF: true,
        transferMode: 'ReturnAsStream',
      })
      await writePieces(context.outputDir, 'output.pdf', readStream(tab, stream!))
      return succeeded('pdf/output.pdf')
    }),
})
