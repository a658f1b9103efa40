#!/usr/bin/env node
// The document as the browser has it after all scripts have run.
import { noteClosedRoots } from '../base/browser/closed-roots.ts'
import { SERIALIZE } from '../base/browser/page-scripts.ts'
import { capture } from '../base/browser/with-tab.ts'
import { evaluateIn, worldOf } from '../base/browser/worlds.ts'
import { pageForDisk } from '../base/charset.ts'
import { writeWhole } from '../base/files.ts'
import { defineHook, succeeded } from '../base/hook.ts'

export default defineHook(import.meta, {
  plugin: 'dom',
  run: (context) =>
    capture(context, async ({ tab }) => {
      const { frame } = (await tab.send('Page.getFrameTree')).frameTree
      const world = await worldOf(tab, frame.id)
      await noteClosedRoots(tab, frame, world)
      const html = await evaluateIn<string>(tab, world, SERIALIZE)
      writeWhole(context.outputDir, 'output.html', pageForDisk(Buffer.from(html), 'UTF-8'))
      return succeeded('dom/output.html')
    }),
})
