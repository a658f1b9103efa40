import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Output } from './model/outputs.ts'

/** A larger file is not shown in the page, but opened separately: the page would have to contain it. */
const MOST_BYTES = 4 * 1024 * 1024
/** The fastest level: the next ones save a tenth for twice the CPU. */
const LEVEL = 1
const HEAD_BYTES = 4_096

/** What may precede the policy of a page that has one: nothing that loads anything. */
const HARMLESS = [
  /<!doctype[^>]*>/,
  /<!--(?!-?>)(?:(?!--!>).)*?-->/,
  /<html[^>]*>/,
  /<head>/,
  /<meta\s+(?:charset|name)=(?![^>]*http-equiv)[^>]*>/,
]
const BEFORE = new RegExp(`^\\uFEFF?\\s*(?:(?:${HARMLESS.map(({ source }) => source).join('|')})\\s*)*`, 'is')
const POLICY = /^<meta\s+http-equiv=["']?content-security-policy["']?\s+content="([^"]*)"/i
const CLOSED_SOURCES = /^(?:'none'|'self'|'unsafe-inline'|data:|file:|blob:)$/

/**
 * A copy as its page shows it. An untrusted document would load its resources from anywhere: so the page contains its
 * text, packed, and shows that under its own policy. A copy that is too large for that, or cannot be read, is a file to
 * open.
 * @param dir the folder of the page
 */
export function packed(dir: string, output: Output): Output & { readonly packed?: string } {
  if (!/^(?:html|source)$/.test(output.shown)) return output
  try {
    const bytes = readUpTo(join(dir, output.path), output.isClosed ? HEAD_BYTES : MOST_BYTES + 1)
    if (output.isClosed && isClosed(bytes.toString('utf8'))) return output
    const whole = bytes.length === HEAD_BYTES ? readUpTo(join(dir, output.path), MOST_BYTES + 1) : bytes
    if (whole.length > MOST_BYTES) return { ...output, shown: 'file' }
    return { ...output, packed: gzipSync(whole, { level: LEVEL }).toString('base64') }
  } catch {
    return { ...output, shown: 'file' }
  }
}

/** The beginning of a file. Synchronous: that costs less than waiting. */
function readUpTo(file: string, most: number): Buffer {
  const fd = openSync(file, 'r')
  try {
    const buffer = Buffer.allocUnsafe(Math.min(fstatSync(fd).size, most))
    return buffer.subarray(0, readSync(fd, buffer, 0, buffer.length, 0))
  } finally {
    closeSync(fd)
  }
}

/** Whether a page begins with a policy under which it can load nothing but files. */
export function isClosed(head: string): boolean {
  const [, policy] = POLICY.exec(head.replace(BEFORE, '')) ?? []
  if (policy === undefined) return false
  const directives = policy.split(';').map((directive) => directive.trim().split(/\s+/))
  const isLocal = directives.every(([, ...sources]) => sources.every((source) => CLOSED_SOURCES.test(source)))
  return isLocal && directives.some(([name]) => name?.toLowerCase() === 'default-src')
}
