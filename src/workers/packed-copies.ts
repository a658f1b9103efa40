import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Output } from '../pages/outputs.ts'

const packed = promisify(gzip)

/** A larger file is not shown in the page, but opened by itself: the page would have to carry it. */
const MOST_BYTES = 4 * 1024 * 1024
/** The fastest: the next levels save a tenth for twice the CPU. */
const LEVEL = 1
/** What makes its HTML load nothing from anywhere, and says so in the first bytes. */
const CLOSED = new Set(['singlefile', 'readability'])
const HEAD_BYTES = 4_096

/** What may stand before the policy of a page that has one: nothing that loads anything. */
const BEFORE = /^\uFEFF?\s*(?:<(?:!doctype[^>]*|!--.*?--|html[^>]*|head|meta\s+(?:charset|name)=[^>]*)>\s*)*/is
const POLICY = /^<meta\s+http-equiv=["']?content-security-policy["']?\s+content="([^"]*)"/i
const CLOSED_SOURCES = /^(?:'none'|'self'|'unsafe-inline'|data:|file:|blob:)$/

/**
 * Copies as their page shows them. HTML of strangers would load what it names from wherever that is: the page carries
 * its text, packed, and shows that under its own policy. What is too large for that, or cannot be read, is a file to
 * open.
 * @param dir the folder of the page
 */
export async function packCopies(dir: string, outputs: readonly Output[]): Promise<Output[]> {
  return await Promise.all(outputs.map((output) => (output.shown === 'html' ? packOne(dir, output) : output)))
}

async function packOne(dir: string, output: Output): Promise<Output> {
  try {
    await using file = await open(join(dir, output.path))
    const { size } = await file.stat()
    if (CLOSED.has(output.plugin)) {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES)
      if (isClosed(buffer.toString('utf8', 0, bytesRead))) return output
    }
    if (size > MOST_BYTES) return { ...output, shown: 'file' }
    const text = await packed(await readAll(file, size), { level: LEVEL })
    return { ...output, packed: text.toString('base64') }
  } catch {
    return { ...output, shown: 'file' }
  }
}

async function readAll(file: Awaited<ReturnType<typeof open>>, size: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(size), 0, size, 0)
  return buffer.subarray(0, bytesRead)
}

/** Does a page begin with a policy under which it can load nothing but files? */
export function isClosed(head: string): boolean {
  const [, policy] = POLICY.exec(head.replace(BEFORE, '')) ?? []
  if (policy === undefined) return false
  const directives = policy.split(';').map((directive) => directive.trim().split(/\s+/))
  const isLocal = directives.every(([, ...sources]) => sources.every((source) => CLOSED_SOURCES.test(source)))
  return isLocal && directives.some(([name]) => name?.toLowerCase() === 'default-src')
}
