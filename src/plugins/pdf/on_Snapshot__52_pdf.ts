#!/usr/bin/env node
// The page as a PDF with its text, an outline from its headings, and tags for screen readers.
import { writePieces } from '../../base/whole-file.ts'
import { UNPIN } from '../../browse/browser/behaviours/unpin.ts'
import { UNROLL } from '../../browse/browser/behaviours/unroll.ts'
import { readStream } from '../../browse/browser/read-stream.ts'
import { evaluateIn, worldOf } from '../../browse/browser/worlds.ts'
import { defineHook, succeeded } from '../base/hook.ts'
import { captureShown } from '../base/with-tab.ts'

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
