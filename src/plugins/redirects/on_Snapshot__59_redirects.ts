#!/usr/bin/env node
// The redirects from the requested URL to the page.
import { writeWhole } from '../../base/whole-file.ts'
import { defineHook, noResults, succeeded } from '../base/hook.ts'
import { capture } from '../base/with-tab.ts'

export default defineHook(import.meta, {
  plugin: 'redirects',
  run: (context) =>
    capture(context, async ({ visited }) => {
      if (visited.redirects.length === 0) return noResults('no redirects')
      const lines = visited.redirects.map((redirect) => `${JSON.stringify(redirect)}\n`)
      writeWhole(context.outputDir, 'redirects.jsonl', lines.join(''))
      return succeeded('redirects/redirects.jsonl')
    }),
})
