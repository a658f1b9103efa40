import { statSync } from 'node:fs'
import { join } from 'node:path'
import { parseContentType } from '../../browse/http/content-type.ts'
import type { HookContext } from '../../hooks/contract.ts'
import { siblingHeaders, TRUNCATED_FILE } from './siblings.ts'

/** Browsers show these as documents: drawings, what a style sheet makes of data, data as a tree, text. */
const SHOWN = /^(?:text\/(?:plain|xml|json)|application\/(?:[\w.-]+\+)?(?:xml|json)|image\/svg\+xml)$/
/** The tree of longer data takes a browser minutes. */
const MOST_BYTES = 1024 * 1024

/** Is the file that a URL is (as staticfile saved it) also something that a browser shows as a person would see it? */
export function isShown(context: Pick<HookContext, 'outputDir'>, name: string): boolean {
  const { status, headers } = siblingHeaders(context) ?? {}
  if (status === undefined || status >= 400 || name.startsWith(TRUNCATED_FILE)) return false
  const { mime } = parseContentType(String(headers?.['content-type'] ?? ''))
  if (!SHOWN.test(mime) || /^\s*attachment\b/i.test(String(headers?.['content-disposition'] ?? ''))) return false
  return statSync(join(context.outputDir, '..', 'staticfile', name)).size <= MOST_BYTES
}
