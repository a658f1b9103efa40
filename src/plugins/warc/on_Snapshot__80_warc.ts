#!/usr/bin/env node
// Everything that the visit of the page and our own requests received, as a WARC that replays, with its index.
import { startDeadline } from '../../base/deadline.ts'
import { timeoutSeconds } from '../../base/env-settings.ts'
import { messageOf } from '../../base/errors.ts'
import { mimeOf } from '../../base/mime.ts'
import { BrowserGone } from '../../browse/browser/cdp.ts'
import { follow } from '../../browse/http/follow.ts'
import { isRequested } from '../../browse/http/page-request.ts'
import { fetchPage, record as recordingOf } from '../../browse/index.ts'
import { Visit } from '../../browse/visit.ts'
import { type Made, type Recording, WARC } from '../../browse/warc/recording.ts'
import type { Seen } from '../../browse/warc/seen.ts'
import type { HookContext, HookResult } from '../../hooks/contract.ts'
import { defineHook, failed, lacking, noResults, succeeded } from '../base/hook.ts'
import {
  around,
  firstSibling,
  readSibling,
  type SiblingFiles,
  siblingRan,
  staticFile,
  textsAround,
} from '../base/siblings.ts'
import { withTab } from '../base/with-tab.ts'

/** The part of the time limit that requests may use: the rest is for the file. */
const SHARE = 0.8
/** How many of the omitted records are named in the log. */
const NAMED = 20

export default defineHook(import.meta, {
  plugin: 'warc',
  async run(context) {
    if (context.visit) return await record(context)
    const visit = new Visit(['warc'])
    visit.recordInto = context.outputDir
    try {
      return await record({ ...context, visit })
    } finally {
      await visit.close()
    }
  },
})

async function record(context: HookContext): Promise<HookResult> {
  const recording = (await recordingOf(context))!
  const page = withoutFragment(context.url)
  try {
    // In a row of hooks both have happened.
    const visited = await withTab(context, async () => succeeded('')).catch((error: unknown) => {
      if (error instanceof BrowserGone && siblingRan(context, 'chrome')) throw error
      context.log(messageOf(error))
    })
    if (visited?.status === 'backoff') return visited
    const isPage = staticFile(context) === undefined
    const hasFailed = isPage && siblingRan(context, 'html') && !readSibling(context, 'html/output.html')
    const { signal, spend, clear } = startDeadline(context.signal, timeoutSeconds(context.env, 'WARC') * SHARE)
    try {
      const mayAsk = !hasFailed || isRequested(context.visit)
      if (mayAsk && !recording.endOf(page)) await readPage({ ...context, signal, spend }, recording)
      await requestAgain({ ...context, signal }, recording)
    } finally {
      clear()
    }
    context.signal.throwIfAborted()
    const recorded = await recording.finish(context.url, made(context))
    if (!recorded) return hasFailed ? lacking('html') : noResults('nothing was received')
    const { responses, leftOut } = recorded
    for (const { url, why } of leftOut.slice(0, NAMED)) context.log(`not in the file: ${url} (${why})`)
    const json = { responses, left_out: leftOut.length }
    const output = `warc/${WARC}`
    const end = recording.endOf(page)
    if (!end) return failed('the page itself did not come whole', { ...json, served: output })
    return succeeded(output, end.bytes > 0 ? json : { ...json, empty: true })
  } finally {
    await recording.discard()
  }
}

/** Reads the answer to the row's shared request to its end, if nobody else has: the recording listens. */
async function readPage(context: HookContext, { left }: Recording): Promise<void> {
  try {
    const { body } = await fetchPage(context)
    for await (const _ of body.chunks(context.signal)) if (body.size > left) break
  } catch (error) {
    context.log(messageOf(error))
  }
}

/** Requests as a whole what the browser got in parts, while there is time: the recording listens. */
async function requestAgain(context: HookContext, recording: Recording): Promise<void> {
  const { env, signal, visit, outputDir } = context
  const readWhole = async (url: string, seen: Seen | undefined) => {
    const options = { encodings: 'identity', seen }
    const { message } = await follow({ url: context.url, env, signal, visit, outputDir }, url, options)
    let { left } = recording
    for await (const piece of message) {
      left -= (piece as Buffer).length
      if (left < 0) break
    }
  }
  for (const [url, seen] of recording.later)
    await readWhole(url, seen).catch((error: unknown) => recording.leaveOut(url, messageOf(error)))
}

/** What other plugins have made of the page, under browsertrix's names for it: the best of each kind. */
function made(context: HookContext): Made[] {
  const meanings = around(context)
  const pictures = meanings.with('picture').map(([plugin]) => plugin)
  const picture = (fileOf: (plugin: string) => string) =>
    pictures.map((plugin) => [plugin, fileOf(plugin)] as const).filter(([, file]) => /^image\//.test(mimeOf(file)))
  const kinds: readonly (readonly [name: string, files: SiblingFiles, mime?: string])[] = [
    ['view', picture(() => 'viewport.jpg')],
    ['fullPage', picture((plugin) => meanings.of(plugin).mainFile ?? 'screenshot.png')],
    ['thumbnail', picture(() => 'thumbnail.webp')],
    ['pdf', meanings.with('mainFile').filter(([, file]) => mimeOf(file) === 'application/pdf')],
    ['text', textsAround(context), 'text/plain; charset=utf-8'],
  ]
  return kinds.flatMap(([name, files, mime]) => {
    const found = firstSibling(context, files)
    return found ? [{ url: `urn:${name}:${context.url}`, mime: mime ?? mimeOf(found.file), bytes: found.bytes }] : []
  })
}

function withoutFragment(text: string): string {
  const url = new URL(text)
  url.hash = ''
  return url.href
}
