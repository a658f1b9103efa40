#!/usr/bin/env node
// The parts of the page, file by file: the bodies of the responses in the WARC, and a list of them.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { flag, sizeLimit, sizeText } from '../../base/env-settings.ts'
import { writeWhole } from '../../base/whole-file.ts'
import { INDEX, WARC } from '../../browse/warc/recording.ts'
import { defineHook, failed, lacking, noResults, skipped, succeeded } from '../base/hook.ts'
import { comesLater, readSibling, siblingRan } from '../base/siblings.ts'
import { bodiesIn } from './bodies.ts'

const MAX_SIZE = 100 * 1024 * 1024
const LIST = 'index.jsonl'

export default defineHook(import.meta, {
  plugin: 'responses',
  async run(context) {
    if (comesLater(context, 'warc')) return lacking('warc')
    const index = readSibling(context, `warc/${INDEX}`)?.toString()
    if (index === undefined && !(siblingRan(context, 'warc') && flag(context.env, 'WARC_ENABLED', true)))
      return skipped('needs warc: WARC_ENABLED')
    if (index === undefined) return lacking('warc')
    const { bytes, name } = sizeLimit(context.env, 'RESPONSES_MAX_SIZE', MAX_SIZE)
    mkdirSync(join(context.outputDir, 'all'), { recursive: true })
    const { list, leftOut } = await bodiesIn(context, join(context.outputDir, '..', 'warc', WARC), index, bytes)
    if (list.length === 0 && leftOut === 0) return noResults('no responses')
    writeWhole(context.outputDir, LIST, list.map((entry) => `${JSON.stringify(entry)}\n`).join(''))
    const output = `responses/${LIST}`
    if (leftOut === 0) return succeeded(output, { responses: list.length })
    return failed(`lacks ${leftOut} responses, beyond ${sizeText(bytes)} in all (${name})`, { served: output })
  },
})
