#!/usr/bin/env node
// Asks the Wayback Machine for a copy.
import { text } from '../../base/env-settings.ts'
import { AppError } from '../../base/errors.ts'
import { hasUrlSecrets } from '../../base/url-secrets.ts'
import { writeWhole } from '../../base/whole-file.ts'
import { statusLine } from '../../browse/http/answer.ts'
import { type Followed, follow } from '../../browse/http/follow.ts'
import { isPrivateName } from '../../browse/network/private-host.ts'
import { defineHook, later, noResults, skipped, succeeded } from '../base/hook.ts'

const ARCHIVE = 'https://web.archive.org'
/** Upstream's name. */
const FILE = 'archive.org.txt'
/** It limits requests, and at times accepts none. */
const BUSY = new Set([429, 502, 503, 504, 520, 523])

export default defineHook(import.meta, {
  plugin: 'archivedotorg',
  async run(context) {
    const { hostname } = new URL(context.url)
    const archive = (text(context.env, 'ARCHIVEDOTORG_URL') ?? ARCHIVE).replace(/\/+$/, '')
    if (isPrivateName(hostname) === true && archive === ARCHIVE) return noResults(`${hostname} is not public`)
    if (hasUrlSecrets(context.url)) return skipped('its URL has a password or token, which nobody else is told')
    const { env, signal } = context // Without the recording of the page's traffic: this is not part of it.
    const url = `${archive}/save/${context.url}`
    const answer = await follow({ url, env, signal }, url)
    answer.message.destroy()
    if (BUSY.has(answer.status)) return later(`${new URL(archive).host}: ${statusLine(answer)}`)
    const copy = copyIn(answer, archive)
    if (copy === undefined) throw new AppError(refusal(answer, archive))
    writeWhole(context.outputDir, FILE, `${copy}\n`)
    return succeeded(copy)
  },
})

/** The address of the copy: where the redirects ended, or as it reports. */
function copyIn({ url, headers, status }: Followed, archive: string): string | undefined {
  if (status >= 400) return undefined
  const said = [headers['content-location'], url].map((place) => URL.parse(place ?? '', archive)?.href)
  return said.find((place) => place !== undefined && /\/web\/\d{14}\w*\//.test(place))
}

function refusal(answer: Followed, archive: string): string {
  const why = answer.headers['x-archive-wayback-runtime-error'] ?? answer.headers['x-ts']
  const what = answer.status >= 400 ? statusLine(answer) : 'no copy was made'
  return `${new URL(archive).host}: ${what}${why ? ` (${why.slice(0, 200)})` : ''}`
}
