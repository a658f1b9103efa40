import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { Stream } from '../../../src/server/live/stream.ts'

it('who never reads is dropped, and others go on', async () => {
  const streams: Stream[] = []
  const server = createServer((_request, response) => {
    response.on('error', () => {})
    streams.push(new Stream(response, { id: 'x' }, new Set(['archive'])))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const open = async () => {
    const asked = get({ host: '127.0.0.1', port, agent: false }).on('error', () => {})
    return ((await once(asked, 'response')) as [IncomingMessage])[0].on('error', () => {})
  }
  const [deaf, reader] = [await open(), await open()]
  let read = ''
  reader.setEncoding('utf8').on('data', (part: string) => (read += part))
  deaf.pause()
  const dropped = once(deaf.socket, 'close')
  let told = 0
  while (!deaf.socket.destroyed && told < 10_000) {
    for (const stream of streams) stream.send('reload', '1', 'x'.repeat(4_000))
    told += 1
    if (told % 20 === 0) {
      deaf.resume().pause() // Only so would it see that it was dropped.
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  deaf.resume()
  await dropped
  for (const stream of streams) stream.tell('2', new Set(['archive', 'processes']))
  while (!read.includes('event: change\ndata: archive\n')) await once(reader, 'data')
  for (const stream of streams) stream.end()
  await once(reader, 'end')
  expect(read.endsWith('retry: 200\n\n')).toBe(true)
  server.close()
})
