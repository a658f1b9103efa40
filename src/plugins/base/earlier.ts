import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { text } from '../../base/env-settings.ts'
import { userAgent } from '../../base/user-agent.ts'
import type { Earlier } from '../../browse/http/answer.ts'
import type { HookContext } from '../../hooks/contract.ts'
import { savedFileIn } from './siblings.ts'

/** Headers about how a body was sent, which do not apply to the file. */
const SENT = new Set(['content-encoding', 'content-length', 'transfer-encoding', 'connection', 'keep-alive'])
/** The folder of another page with this URL, which the worker sets if it may be reused. */
const EARLIER_DIR = 'ARCHIVEBOX_EARLIER_DIR'
/** Files of one answer are written one after another; a file system's clock may be coarse. */
const CLOCK_MS = 1_000

/**
 * The latest copy of this page in the archive, if it is complete and its server has sent an ETag or a date with it.
 * Undefined otherwise, and for an answer that was meant for one visitor, or requested by a different one, since
 * personas differ.
 */
export function earlierCopy({ env, url }: Pick<HookContext, 'env' | 'url'>): Earlier | undefined {
  const folder = env[EARLIER_DIR]
  if (!folder) return undefined
  try {
    const path = join(folder, 'headers', 'headers.json')
    const record = JSON.parse(readFileSync(path, 'utf8')) as Readonly<Record<string, unknown>>
    const { url: asked, status, final_url: finalUrl, not_modified: notModified } = record
    if (record['with_credentials'] === true || !isAskedFor(record['request_headers'], env)) return undefined
    const headers = Object.fromEntries(
      Object.entries(record['headers'] as object).filter(
        (entry): entry is [string, string] => typeof entry[1] === 'string' && !SENT.has(entry[0]),
      ),
    )
    const file = savedFileIn(folder)
    const conditions = conditionsOf(headers)
    if (asked !== url || status !== 200 || typeof finalUrl !== 'string' || !file || !conditions) return undefined
    const writtenAt = statSync(path).mtime
    // Headers that were requested anew do not describe the earlier body.
    if (statSync(file).mtimeMs < writtenAt.getTime() - CLOCK_MS) return undefined
    const before = (notModified as { readonly since?: unknown } | undefined)?.since
    const since = typeof before === 'string' ? before : writtenAt.toISOString()
    return { finalUrl, headers, conditions, file, since }
  } catch {
    return undefined // It was deleted, or is not ours.
  }
}

/** Whether the same program requested it, in the same language. */
function isAskedFor(before: unknown, env: HookContext['env']): boolean {
  const sent = before as Readonly<Record<string, unknown>>
  return sent['user-agent'] === userAgent(env) && sent['accept-language'] === text(env, 'ACCEPT_LANGUAGE')
}

function conditionsOf(headers: Readonly<Record<string, string>>): Record<string, string> | undefined {
  const { etag, 'last-modified': date, vary = '', 'cache-control': control = '' } = headers
  if (/\*|\bcookie\b|\bauthorization\b/i.test(vary) || /\b(?:private|no-store)\b/i.test(control)) return undefined
  if (!etag && !date) return undefined
  return { ...(etag && { 'if-none-match': etag }), ...(date && { 'if-modified-since': date }) }
}
