import type { Tab } from './tab.ts'

/** What the browser hands out in pieces, to its end. */
export async function* readStream(tab: Tab, handle: string): AsyncGenerator<Buffer, void> {
  while (true) {
    const { data, base64Encoded, eof } = await tab.send('IO.read', { handle, size: 1024 * 1024 })
    yield Buffer.from(data, base64Encoded ? 'base64' : 'utf8')
    if (eof) break
  }
  await tab.send('IO.close', { handle })
}
