import type { Session } from './cdp.ts'

/** Reads a stream of the browser to its end. */
export async function* readStream(session: Pick<Session, 'send'>, handle: string): AsyncGenerator<Buffer, void> {
  while (true) {
    const { data, base64Encoded, eof } = await session.send('IO.read', { handle, size: 1024 * 1024 })
    yield Buffer.from(data, base64Encoded ? 'base64' : 'utf8')
    if (eof) break
  }
  await session.send('IO.close', { handle })
}
