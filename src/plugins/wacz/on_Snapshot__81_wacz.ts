#!/usr/bin/env node
// The page's WARC, its index, its title and text, in one file that ReplayWeb.page and pywb open.
import { createReadStream, createWriteStream, existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { makeDir, PART } from '../../base/whole-file.ts'
import { capturedAt, type IndexFields, linesIn } from '../../browse/warc/index-line.ts'
import { INDEX, WARC } from '../../browse/warc/recording.ts'
import { WaczFile, type WaczPage } from '../../browse/warc/wacz-file.ts'
import { endOf } from '../../browse/warc/whole.ts'
import type { HookContext } from '../../hooks/contract.ts'
import { defineHook, failed, lacking, succeeded } from '../base/hook.ts'
import { around, comesLater, firstSibling, readSibling, textsAround } from '../base/siblings.ts'

const NAME = 'page.wacz'
/** More text does not improve a search. */
const MAX_TEXT = 500_000

export default defineHook(import.meta, {
  plugin: 'wacz',
  async run(context) {
    if (comesLater(context, 'warc')) return lacking('warc')
    const warc = join(context.outputDir, '..', 'warc', WARC)
    const index = readSibling(context, `warc/${INDEX}`)?.toString()
    if (index === undefined || !existsSync(warc)) return lacking('warc')
    const page = pageOf(context, index)
    makeDir(context.outputDir)
    const part = join(context.outputDir, PART)
    const wacz = new WaczFile(createWriteStream(part))
    try {
      await wacz.archive(createReadStream(warc, { signal: context.signal }))
      await wacz.index(index.split(/(?<=\n)/))
      await wacz.pages([page])
      await wacz.finish({ ...(page.title !== undefined && { title: page.title }), mainPage: page })
      renameSync(part, join(context.outputDir, NAME))
    } finally {
      wacz.abandon()
      rmSync(part, { force: true })
    }
    const served = `wacz/${NAME}`
    return isWhole(page.url, index) ? succeeded(served) : failed('the page itself did not come whole', { served })
  },
})

/** As the WARC's own result says. */
function isWhole(url: string, index: string): boolean {
  const isThere = ({ method, truncated, redirect }: IndexFields) =>
    method === undefined && (truncated === undefined || redirect !== undefined)
  const whole = linesIn(index).filter(({ fields }) => isThere(fields))
  const steps = whole.map(({ fields }) => [fields.url, { leadsTo: fields['redirect'] }] as const)
  // A page that sets a cookie by a redirect to itself comes after that redirect.
  const ends = steps.filter(([, { leadsTo }]) => leadsTo === undefined)
  return endOf(url, new Map([...steps, ...ends])) !== undefined
}

function pageOf(context: HookContext, index: string): WaczPage {
  const { href } = new URL(context.url)
  const url = href.replace(/#.*$/s, '')
  const title = firstSibling(context, around(context).with('title'))?.bytes.toString().trim()
  const text = firstSibling(context, textsAround(context))?.bytes.toString().slice(0, MAX_TEXT)
  return {
    id: context.env['SNAPSHOT_ID'] ?? '1',
    url,
    ts: capturedAt(url, linesIn(index)) ?? new Date().toISOString(),
    ...(title && { title }),
    ...(text && { text }),
  }
}
