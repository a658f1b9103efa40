#!/usr/bin/env node
// The page with all that it shows, in the one-file format of browsers.
import { mhtmlOf } from '../base/browser/mhtml.ts'
import { capture } from '../base/browser/with-tab.ts'
import { writeWhole } from '../base/files.ts'
import { defineHook, succeeded } from '../base/hook.ts'

export default defineHook(import.meta, {
  plugin: 'mhtml',
  run: (context) =>
    capture(context, async ({ tab }) => {
      writeWhole(context.outputDir, 'snapshot.mhtml', await mhtmlOf(tab))
      return succeeded('mhtml/snapshot.mhtml')
    }),
})
