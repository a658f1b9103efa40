#!/usr/bin/env node
// The console messages of the page, and the errors of its scripts.
import { writeWhole } from '../../base/whole-file.ts'
import { redaction } from '../../browse/persona/credentials.ts'
import { credentialsFor } from '../../browse/persona/credentials-for.ts'
import { defineHook, noResults, succeeded } from '../base/hook.ts'
import { capture } from '../base/with-tab.ts'

export default defineHook(import.meta, {
  plugin: 'consolelog',
  run: (context) =>
    capture(context, async ({ tab: { console: log } }) => {
      if (log.lines.length === 0) return noResults('nothing on the console')
      const redacted = redaction(await credentialsFor(context))
      const lines = log.lines.map((line) => ({ ...line, text: redacted(line.text) }))
      writeWhole(context.outputDir, 'console.jsonl', lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
      if (log.dropped > 0) context.log(`${log.dropped} more lines were not kept.`)
      return succeeded('consolelog/console.jsonl')
    }),
})
