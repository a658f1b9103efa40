#!/usr/bin/env node
// The document in the browser after all scripts have run.
import { writeWhole } from '../../base/whole-file.ts'
import { noteClosedRoots } from '../../browse/browser/closed-roots.ts'
import { runIn, worldOf } from '../../browse/browser/worlds.ts'
import { pageForDisk } from '../../browse/html/charset.ts'
import { defineHook, succeeded } from '../base/hook.ts'
import { capture } from '../base/with-tab.ts'

export default defineHook(import.meta, {
  plugin: 'dom',
  run: (context) =>
    capture(context, async ({ tab }) => {
      const { frame } = (await tab.send('Page.getFrameTree')).frameTree
      const world = await worldOf(tab, frame.id)
      await noteClosedRoots(tab, frame, world)
      const html = await runIn(tab, world, 'serialize')
      writeWhole(context.outputDir, 'output.html', pageForDisk(Buffer.from(html), 'UTF-8'))
      return succeeded('dom/output.html')
    }),
})
