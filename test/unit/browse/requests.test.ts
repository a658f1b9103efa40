import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { messageOf } from '../../../src/base/errors.ts'
import { drop, request } from '../../../src/browse/http/request.ts'
import { certificate, noCertificates } from '../../support/certificates.ts'

it('leave their connection to the next one, unless a long body is dropped', async () => {
  const server = createServer((asked, answer) => answer.end('x'.repeat(asked.url === '/long' ? 1_000_000 : 100)))
  let connections = 0
  server.on('connection', () => {
    connections += 1
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const after = async (path: string) => {
    const signal = AbortSignal.timeout(20_000)
    const body = await request(new URL(`http://127.0.0.1:${port}${path}`), { headers: {}, signal, verifyTls: true })
    const closed = once(body, 'close')
    drop(body)
    await closed
    return connections
  }
  try {
    expect([await after('/'), await after('/'), await after('/long'), await after('/')]).toEqual([1, 1, 1, 2])
  } finally {
    server.close()
    server.closeAllConnections()
  }
})

it.skipIf(noCertificates)(
  `say what is wrong with a certificate, and which setting minds ${noCertificates}`,
  async () => {
    const said = async (days: number) => {
      const server = createTlsServer(certificate(days), (_, answer) => answer.end())
      await once(server.listen(0, '127.0.0.1'), 'listening')
      const url = new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}/`)
      const options = { headers: {}, signal: AbortSignal.timeout(20_000), verifyTls: true }
      return await request(url, options)
        .catch(messageOf)
        .finally(() => server.close())
    }
    expect(await said(2)).toMatch(/^TLS problem with 127\S+ self-signed certificate \(CHECK_SSL_VALIDITY\)$/)
    expect(await said(-1)).toMatch(/^TLS problem with 127\S+ certificate has expired \(CHECK_SSL_VALIDITY\)$/)
  },
)
