#!/usr/bin/env node
// The complete text of a page.
import { writeWhole } from '../../base/whole-file.ts'
import { defineHook, noResults, succeeded } from '../base/hook.ts'
import { loadPage } from '../base/page.ts'
import { textOf } from './text-of.ts'

export default defineHook(import.meta, {
  plugin: 'htmltotext',
  async run(context) {
    const page = await loadPage(context)
    if ('status' in page) return page
    const text = textOf(page.html)
    if (text === '') return noResults('no text')
    writeWhole(context.outputDir, 'htmltotext.txt', `${text}\n`)
    return succeeded('htmltotext/htmltotext.txt')
  },
})
