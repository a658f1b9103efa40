import { open } from 'node:fs/promises'
import { TimedOut } from '../../base/deadline.ts'
import { type SizeLimit, tooLarge } from '../../base/env-settings.ts'
import { AppError, isMachineTrouble } from '../../base/errors.ts'
import type { Answer } from './answer.ts'
import { decoded, encodingsOf } from './decoded.ts'
import { explainBody } from './network-errors.ts'

/**
 * Yields the decoded body of an answer, chunk by chunk. Throws AppError when it exceeds `limit` (as sent, at once if
 * Content-Length says so, or decoded), breaks off, or cannot be decoded, and the reason of `signal`; everything before
 * that has been yielded.
 */
export async function* chunksOf(
  answer: Answer,
  limit: SizeLimit,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  try {
    if (Number(answer.headers['content-length']) > limit.bytes) throw tooLarge(limit)
    const sent = limited(answer.body.chunks(signal), limit)
    yield* limited(decoded(sent, encodingsOf(answer)), limit)
  } catch (error) {
    throw explained(error, answer, signal)
  }
}

/** Cuts off at the limit, and then throws AppError. */
async function* limited(chunks: AsyncIterable<Buffer>, limit: SizeLimit): AsyncGenerator<Buffer, void, undefined> {
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.length
    const excess = size - limit.bytes
    yield excess > 0 ? chunk.subarray(0, -excess) : chunk
    if (excess > 0) throw tooLarge(limit)
  }
}

/** Whether it contains only white space. */
export function isBlank(bytes: Buffer): boolean {
  return !bytes.some((byte) => byte > 0x20)
}

/** The part of a body that was received. */
export interface Kept {
  readonly bytes: Buffer
  /** Why it is incomplete; undefined: it is complete. */
  readonly trouble: AppError | undefined
}

/** Reads the decoded body into memory. Throws only errors that are not about the body: a stop, a full disk. */
export async function readBody(answer: Answer, limit: SizeLimit, signal: AbortSignal): Promise<Kept> {
  const parts: Buffer[] = []
  const trouble = await troubleIn(signal, async () => {
    for await (const chunk of chunksOf(answer, limit, signal)) parts.push(chunk)
  })
  const bytes = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
  return { bytes, trouble }
}

/**
 * Streams the decoded body into the file `part`, which then exists even if little or nothing arrived. Throws as
 * `readBody` does.
 */
export async function saveBody(
  answer: Answer,
  limit: SizeLimit,
  part: string,
  signal: AbortSignal,
): Promise<{ readonly size: number; readonly trouble: AppError | undefined }> {
  // A long body without an encoding already lies in a file.
  const isPlain = encodingsOf(answer).length === 0
  let size = 0
  const trouble = await troubleIn(signal, async () => {
    const file = isPlain ? undefined : await open(part, 'w')
    try {
      for await (const chunk of chunksOf(answer, limit, signal)) {
        await file?.writeFile(chunk)
        size += chunk.length
      }
    } finally {
      await file?.close()
    }
  })
  if (!isPlain) return { size, trouble }
  await answer.body.saveTo(part, trouble)
  return { size: answer.body.size, trouble }
}

/** Runs a reader of a body. @returns why the body ends early, if it does; throws errors that are not about it */
async function troubleIn(signal: AbortSignal, read: () => Promise<void>): Promise<AppError | undefined> {
  try {
    await read()
    return undefined
  } catch (error) {
    if (error instanceof AppError && (!signal.aborted || error instanceof TimedOut)) return error
    throw error
  }
}

/** Explains trouble of the server; errors of the signal and the machine stay as they are. */
function explained(error: unknown, { url }: Answer, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  return isMachineTrouble(error) ? error : explainBody(error, new URL(url))
}
