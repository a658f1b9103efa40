#!/usr/bin/env node
// The page with all that it shows, as one HTML file without scripts that opens everywhere and requests nothing.
import { MAX_FILE, partsOf } from '../base/browser/page-parts.ts'
import { singleFile } from '../base/browser/single-file.ts'
import { capture } from '../base/browser/with-tab.ts'
import { writePieces } from '../base/files.ts'
import { defineHook, failed, succeeded } from '../base/hook.ts'
import { sizeLimit, sizeText } from '../base/settings.ts'

const FILE = 'singlefile.html'
const MAX_SIZE = 100 * 1024 * 1024

export default defineHook(import.meta, {
  plugin: 'singlefile',
  run: (context) =>
    capture(context, async ({ tab, visited }) => {
      const { bytes, name } = sizeLimit(context.env, 'SINGLEFILE_MAX_SIZE', MAX_SIZE)
      const parts = await partsOf(tab, bytes)
      await writePieces(context.outputDir, FILE, singleFile(parts, visited.final_url))
      const output = `singlefile/${FILE}`
      if (parts.leftOut === 0) return succeeded(output)
      return failed(
        `lacks ${parts.leftOut} files, beyond ${sizeText(MAX_FILE)} each or ${sizeText(bytes)} in all (${name})`,
        { served: output },
      )
    }),
})
