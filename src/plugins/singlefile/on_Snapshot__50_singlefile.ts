#!/usr/bin/env node
// The page with everything that it shows, as one HTML file without scripts that opens everywhere and requests nothing.
import { sizeLimit, sizeText } from '../../base/env-settings.ts'
import { writePieces } from '../../base/whole-file.ts'
import { MAX_FILE, partsOf } from '../../browse/browser/page-parts.ts'
import { singleFile } from '../../browse/browser/single-file.ts'
import { defineHook, failed, succeeded } from '../base/hook.ts'
import { capture } from '../base/with-tab.ts'

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
