#!/usr/bin/env node
// The page as a screen reader knows it: the browser's accessibility tree.
import { writeWhole } from '../../base/whole-file.ts'
import { defineHook, succeeded } from '../base/hook.ts'
import { capture } from '../base/with-tab.ts'

export default defineHook(import.meta, {
  plugin: 'accessibility',
  run: (context) =>
    capture(context, async ({ tab, visited }) => {
      const { nodes } = await tab.send('Accessibility.getFullAXTree')
      const shown = nodes.filter(({ ignored }) => !ignored)
      const tree = shown.map(({ nodeId, parentId, role, name, value }) => ({
        id: nodeId,
        parent: parentId,
        role: role?.value,
        name: name?.value || undefined,
        value: value?.value,
      }))
      writeWhole(context.outputDir, 'accessibility.json', `${JSON.stringify({ url: visited.final_url, tree })}\n`)
      return succeeded('accessibility/accessibility.json')
    }),
})
