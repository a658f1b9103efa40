#!/usr/bin/env node
// The page with everything it needs, by wget: browsable files and a WARC of the traffic. If a browser saves it, only
// when wget is requested.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { flag, sizeLimit, text, timeoutSeconds, tooLarge } from '../../base/env-settings.ts'
import { AppError } from '../../base/errors.ts'
import { findProgram } from '../../base/find-program.ts'
import { isBlank } from '../../browse/http/body.ts'
import { isPage } from '../../browse/http/content-type.ts'
import { speaksOnlyHttp2 } from '../../browse/http/request.ts'
import { AddressFilter } from '../../browse/network/address-filter.ts'
import { proxyEnvironment, withHttpFilter } from '../../browse/network/http-filter.ts'
import { isExpired } from '../../browse/persona/cookie.ts'
import { formatCookiesTxt } from '../../browse/persona/cookies-txt.ts'
import { credentialsFor } from '../../browse/persona/credentials-for.ts'
import { headersFor } from '../../browse/persona/headers.ts'
import { isDead } from '../base/dead-page.ts'
import { defineHook, lacking, noResults, skipped, succeeded } from '../base/hook.ts'
import { runProgram } from '../base/run-program.ts'
import { comesLater, readSibling, siblingHeaders, staticFile } from '../base/siblings.ts'
import { wgetArguments } from './arguments.ts'
import { failureReason, isAnswered, savedPage, withoutCookies } from './wget-log.ts'

const DEFAULT_MAX_SIZE = 750 * 1024 * 1024
/** wget's working folder: published when wget is done, or deleted. */
const STAGE = '.partial'

export default defineHook(import.meta, {
  plugin: 'wget',
  async run(context) {
    const file = staticFile(context)
    if (file !== undefined) return noResults(`staticfile already handled: staticfile/${file}`)
    const known = siblingHeaders(context)
    if (isDead(context) && (!known || isPage(known.headers))) return lacking('html')
    // The browser requests the pages of a site, and we did before: not everything once more.
    const isWanted = flag(context.env, 'WGET_ENABLED', false)
    if (!isWanted && (comesLater(context, 'chrome') || readSibling(context, 'chrome/navigation.json')))
      return noResults('the browser saves the page; WGET_ENABLED=true or --plugins has wget do so, too')
    const name = text(context.env, 'WGET_BINARY') ?? 'wget'
    const program = findProgram(name, context.env['PATH'])
    if (!program)
      return skipped(`${name} not found: ${process.platform === 'darwin' ? 'brew' : 'apt-get'} install wget`)
    const { host } = new URL(context.url)
    if (speaksOnlyHttp2(host)) return skipped(`${host} only speaks HTTP/2, which wget does not`)

    const limit = sizeLimit(context.env, 'WGET_MAX_SIZE', DEFAULT_MAX_SIZE)
    const { cookies, headers } = await credentialsFor(context)
    const isLoggedIn = cookies.some((cookie) => !isExpired(cookie))
    const args = wgetArguments(context, timeoutSeconds(context.env, 'WGET'), limit, isLoggedIn)
    if (Object.keys(headersFor(headers, new URL(context.url))).length > 0)
      context.log('without the headers of the persona: wget would send them to every host')
    const stage = join(context.outputDir, STAGE)
    const { env } = context
    rmSync(stage, { recursive: true, force: true })
    mkdirSync(join(stage, 'warc'), { recursive: true })
    try {
      const options = { cwd: stage, maxFileBytes: limit.bytes, diesAtLimit: true, input: formatCookiesTxt(cookies) }
      const exit = await withHttpFilter({ filter: AddressFilter.from(env), env, url: context.url }, (proxy) =>
        runProgram(program, [...proxied(proxy), ...args], { ...options, env: proxyEnvironment(proxy) }, context),
      )
      context.log((isLoggedIn ? withoutCookies(exit.log) : exit.log).trim())
      context.signal.throwIfAborted()
      if (exit.signal === 'SIGXFSZ') throw tooLarge(limit)
      // The page counts even when a picture on it was unavailable: the exit code covers all requests.
      const page = savedPage(exit.log)
      if (page === undefined || exit.signal !== null) throw new AppError(failureReason(exit, context.url))
      if (!isAnswered(exit.log)) throw new AppError(`${new URL(context.url).host} does not answer in HTTP`)
      // For an answer without a body it names a file that it does not write.
      const file = join(stage, page)
      if (!existsSync(file) || isBlank(readFileSync(file))) return noResults('an empty answer')
      for (const entry of readdirSync(stage)) {
        rmSync(join(context.outputDir, entry), { recursive: true, force: true })
        renameSync(join(stage, entry), join(context.outputDir, entry))
      }
      return succeeded(`wget/${page}`)
    } finally {
      rmSync(stage, { recursive: true, force: true })
    }
  },
})

/**
 * The options that make wget use the proxy of its environment, whatever its own settings are. A proxy with a password
 * is named only there: everybody can see the arguments of a program.
 */
function proxied(proxy: string | undefined): string[] {
  if (proxy === undefined) return []
  if (proxy.includes('@')) return ['--no-config', '-e', 'use_proxy=yes']
  const settings = ['use_proxy=yes', 'no_proxy=', ...['http', 'https'].map((scheme) => `${scheme}_proxy=${proxy}`)]
  return settings.flatMap((each) => ['-e', each])
}
