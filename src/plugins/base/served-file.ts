import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseContentType } from '../../browse/http/content-type.ts'
import type { HookContext, HookResult } from '../../hooks/contract.ts'
import { lacking, noResults } from './hook.ts'
import { ERROR_FILE, siblingHeaders, siblingRan, staticFile, TRUNCATED_FILE } from './siblings.ts'

/** The file behind a URL, as staticfile saved it. */
export interface ServedFile {
  readonly name: string
  readonly path: string
  readonly size: number
  /** Its first bytes, which determine its type: servers often do not. */
  readonly head: Buffer
}

const HEAD_BYTES = 4096

/** The file behind the URL; a result instead when the URL is a page. */
export function servedFile(context: Pick<HookContext, 'outputDir'>): ServedFile | HookResult {
  const name = staticFile(context)
  const page = join(context.outputDir, '..')
  if (name === undefined) {
    const isPage = existsSync(join(page, 'html', 'output.html')) || !siblingRan(context, 'staticfile')
    return isPage ? noResults('not a file') : lacking('staticfile')
  }
  if (name.startsWith(ERROR_FILE) && !isAnswered(context)) return lacking('staticfile')
  const path = join(page, 'staticfile', name)
  const head = Buffer.alloc(HEAD_BYTES)
  const fd = openSync(path, 'r')
  try {
    const length = readSync(fd, head, 0, head.length, 0)
    return { name, path, size: statSync(path).size, head: head.subarray(0, length) }
  } finally {
    closeSync(fd)
  }
}

/** Whether the file's server is known to have sent it: its own name may begin like that of an error. */
function isAnswered(context: Pick<HookContext, 'outputDir'>): boolean {
  const { status = 0 } = siblingHeaders(context) ?? {}
  return status >= 200 && status <= 299
}

/** Types that browsers show as documents: drawings, data with a style sheet, data as a tree, text. */
const SHOWN = /^(?:text\/(?:plain|xml|json)|application\/(?:[\w.-]+\+)?(?:xml|json)|image\/svg\+xml)$/
/** For longer data, a browser takes minutes to build the tree. */
const MOST_BYTES = 1024 * 1024

/** Whether the file behind a URL (as staticfile saved it) is also one that a browser shows to a person. */
export function isShown(context: Pick<HookContext, 'outputDir'>, name: string): boolean {
  const { status, headers } = siblingHeaders(context) ?? {}
  if (status === undefined || status >= 400 || name.startsWith(TRUNCATED_FILE)) return false
  const { mime } = parseContentType(String(headers?.['content-type'] ?? ''))
  if (!SHOWN.test(mime) || /^\s*attachment\b/i.test(String(headers?.['content-disposition'] ?? ''))) return false
  return statSync(join(context.outputDir, '..', 'staticfile', name)).size <= MOST_BYTES
}
