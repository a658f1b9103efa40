#!/usr/bin/env node
// Video and audio of a page by yt-dlp, with subtitles, thumbnail and metadata.
import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { TimedOut } from '../../base/deadline.ts'
import { sizeLimit, sizeText, text } from '../../base/env-settings.ts'
import { findProgram } from '../../base/find-program.ts'
import { AddressFilter } from '../../browse/network/address-filter.ts'
import { proxyEnvironment, withHttpFilter } from '../../browse/network/http-filter.ts'
import { isExpired } from '../../browse/persona/cookie.ts'
import { formatCookiesTxt } from '../../browse/persona/cookies-txt.ts'
import { credentialsFor } from '../../browse/persona/credentials-for.ts'
import { defineHook, failed, noResults, skipped, succeeded } from '../base/hook.ts'
import { loadPage } from '../base/page.ts'
import { runProgram } from '../base/run-program.ts'
import { ytdlpArguments } from './arguments.ts'
import { hasMedia } from './has-media.ts'
import { withoutSecrets } from './info-json.ts'
import { mainFile, outcomeOf } from './outcome.ts'

const DEFAULT_MAX_SIZE = 750 * 1024 * 1024
/** Files that are not whole yet: downloads, metadata, and what ffmpeg makes. */
const UNFINISHED = /\.(?:part|ytdl|tmp)$|\.part-Frag\d+|\.temp(?:\.\w+)?$/
/** Its working folder, which is complete when yt-dlp is done. */
const STAGE = '.partial'

export default defineHook(import.meta, {
  plugin: 'ytdlp',
  async run(context) {
    const { env, outputDir } = context
    const page = await loadPage(context)
    if ('status' in page) return page
    if (!hasMedia(page.html)) return noResults('no media on the page')
    const name = text(env, 'YTDLP_BINARY') ?? 'yt-dlp'
    const program = findProgram(name, env['PATH'])
    if (!program) return skipped(`${name} not found: archivebox-ts plugin install ytdlp`)

    const limit = sizeLimit(env, 'YTDLP_MAX_SIZE', DEFAULT_MAX_SIZE)
    const stage = join(outputDir, STAGE)
    rmSync(stage, { recursive: true, force: true })
    mkdirSync(stage, { recursive: true })
    try {
      const { cookies } = await credentialsFor(context)
      const args = ytdlpArguments(
        context,
        limit,
        cookies.some((cookie) => !isExpired(cookie)),
      )
      // The limit for files of unknown size is half as much again, since sound and picture are joined.
      const options = { cwd: stage, maxFileBytes: limit.bytes * 1.5, input: formatCookiesTxt(cookies) }
      const exit = await withHttpFilter({ filter: AddressFilter.from(env), env, url: context.url }, (proxy) =>
        runProgram(program, args, { ...options, env: proxyEnvironment(proxy) }, context),
      )
      context.log(exit.log.trim())
      const late: unknown = context.signal.reason
      if (!(late instanceof TimedOut)) context.signal.throwIfAborted()
      // A title may begin with dots, which would hide its files.
      for (const file of readdirSync(stage).filter((name) => /^\.+[^.]/.test(name)))
        renameSync(join(stage, file), join(stage, file.replace(/^\.+/, '')))
      const files = readdirSync(stage).filter((file) => !UNFINISHED.test(file))
      for (const file of files) if (file.endsWith('.info.json')) withoutSecrets(join(stage, file))
      const main = mainFile(stage, files)
      const outcome = outcomeOf(exit, `${sizeText(limit.bytes)} (${limit.name})`)
      const { problem, isNone } = late instanceof TimedOut ? { problem: late.message, isNone: false } : outcome
      if (main === undefined)
        return isNone ? noResults('no media that yt-dlp can save') : failed(problem ?? 'yt-dlp saved nothing')
      for (const file of files) {
        rmSync(join(outputDir, file), { recursive: true, force: true })
        renameSync(join(stage, file), join(outputDir, file))
      }
      // What it did get is kept.
      return problem === undefined ? succeeded(`ytdlp/${main}`) : failed(problem, { served: `ytdlp/${main}` })
    } finally {
      rmSync(stage, { recursive: true, force: true })
    }
  },
})
