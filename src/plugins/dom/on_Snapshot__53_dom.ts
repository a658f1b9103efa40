#!/usr/bin/env node
// The document as the browser has it after all scripts have run.
import { SERIALIZE } from '../base/browser/page-scripts.ts'
import { capture } from '../base/browser/with-tab.ts'
import { pageForDisk } from '../base/charset.ts'
import { writeWhole } from '../base/files.ts'
import { defineHook, succeeded } from '../base/hook.ts'

export default defineHook(import.meta, {
  plugin: 'dom',
  run: (context) =>
    capture(context, async ({ tab }) => {
      const html = await tab.evaluate<string>(SERIALIZE)
      writeWhole(context.outputDir, 'output.html', pageForDisk(Buffer.from(html), 'UTF-8'))
      return succeeded('dom/output.html')
    }),
})
