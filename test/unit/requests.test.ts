import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import { expect, it } from 'vitest'
import { drop, request } from '../../src/plugins/base/request.ts'
import { withPrograms } from '../support/bare-path.ts'

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

const OPENSSL = withPrograms('openssl')
it.skipIf(OPENSSL.missing)(`say when a server only speaks HTTP/2 ${OPENSSL.missing || ''}`, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'archivebox-ts-http2-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=127.0.0.1']
  spawnSync('openssl', ['req', '-x509', ...kind, '-keyout', key, '-out', cert], { env: { PATH: OPENSSL.path } })
  const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert), ALPNProtocols: ['h2'] })
  rmSync(folder, { recursive: true })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const options = { headers: {}, signal: AbortSignal.timeout(20_000), verifyTls: false }
  const asked = request(new URL(`https://127.0.0.1:${port}/`), options)
  await expect(asked).rejects.toThrow(`127.0.0.1:${port} does not speak HTTP/1.1, only HTTP/2`)
  server.close()
})
