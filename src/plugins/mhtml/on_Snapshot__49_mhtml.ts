#!/usr/bin/env node
// The page with everything that it shows, in the one-file format of browsers.
import { sizeLimit, tooLarge } from '../../base/env-settings.ts'
import { writeWhole } from '../../base/whole-file.ts'
import { sizeOf } from '../../browse/browser/page-parts.ts'
import { defineHook, succeeded } from '../base/hook.ts'
import { capture } from '../base/with-tab.ts'

/** The browser returns it as one text, which must fit into a hook's memory. */
const MAX_SIZE = 50 * 1024 * 1024

export default defineHook(import.meta, {
  plugin: 'mhtml',
  run: (context) =>
    capture(context, async ({ tab }) => {
      const limit = sizeLimit(context.env, 'MHTML_MAX_SIZE', MAX_SIZE)
      if ((await sizeOf(tab)) > limit.bytes) throw tooLarge(limit)
      const { data } = await tab.send('Page.captureSnapshot', { format: 'mhtml' })
      writeWhole(context.outputDir, 'snapshot.mhtml', data)
      return succeeded('mhtml/snapshot.mhtml')
    }),
})
