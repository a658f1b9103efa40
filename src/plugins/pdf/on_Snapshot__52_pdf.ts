#!/usr/bin/env node
// The page as a PDF with its text, an outline from its headings, and tags for screen readers.
import { writePieces } from '../../base/whole-file.ts'
import { readStream } from '../../browse/browser/read-stream.ts'
import { runIn, worldOf } from '../../browse/browser/worlds.ts'
import { defineHook, succeeded } from '../base/hook.ts'
import { captureShown } from '../base/with-tab.ts'

export default defineHook(import.meta, {
  plugin: 'pdf',
  run: (context) =>
    captureShown(context, async ({ tab }) => {
      const { frameTree } = await tab.send('Page.getFrameTree')
      const world = await worldOf(tab, frameTree.frame.id)
      for (const script of ['unroll', 'unpin'] as const) await runIn(tab, world, script)
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
