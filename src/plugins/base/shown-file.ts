import { statSync } from 'node:fs'
import { join } from 'node:path'
import { parseContentType } from '../../browse/http/content-type.ts'
import type { HookContext } from '../../hooks/contract.ts'
import { siblingHeaders, TRUNCATED_FILE } from './siblings.ts'

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
