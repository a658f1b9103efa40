#!/usr/bin/env node
// The page with all that it shows, as one HTML file without scripts that opens everywhere and requests nothing.
import { partsOf } from '../base/browser/page-parts.ts'
import { singleFile } from '../base/browser/single-file.ts'
import { capture } from '../base/browser/with-tab.ts'
import { writePieces } from '../base/files.ts'
import { defineHook, succeeded } from '../base/hook.ts'
import { sizeLimit, sizeText } from '../base/settings.ts'

const MAX_SIZE = 100 * 1024 * 1024

export default defineHook(import.meta, {
  plugin: 'singlefile',
  run: (context) =>
    capture(context, async ({ tab, visited }) => {
      const { bytes, name } = sizeLimit(context.env, 'SINGLEFILE_MAX_SIZE', MAX_SIZE)
      const parts = await partsOf(tab, bytes)
      await writePieces(context.outputDir, 'singlefile.html', singleFile(parts, visited.final_url))
      const { leftOut } = parts
      if (leftOut > 0) context.log(`${leftOut} files were left out: more than ${sizeText(bytes)} (${name}).`)
      return succeeded('singlefile/singlefile.html')
    }),
})
