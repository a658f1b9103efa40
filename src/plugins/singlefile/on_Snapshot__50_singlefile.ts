#!/usr/bin/env node
// The page with all that it shows, as one HTML file without scripts that opens everywhere and requests nothing.
import { mhtmlOf } from '../base/browser/mhtml.ts'
import { singleFile } from '../base/browser/single-file.ts'
import { capture } from '../base/browser/with-tab.ts'
import { writeWhole } from '../base/files.ts'
import { defineHook, succeeded } from '../base/hook.ts'

export default defineHook(import.meta, {
  plugin: 'singlefile',
  run: (context) =>
    capture(context, async ({ tab, visited }) => {
      const html = singleFile(await mhtmlOf(tab), visited.final_url)
      writeWhole(context.outputDir, 'singlefile.html', html)
      return succeeded('singlefile/singlefile.html')
    }),
})
