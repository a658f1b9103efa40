import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createPlainServer, type RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, expect, it } from 'vitest'
import { robotsOf } from '../../../src/workers/page/robots.ts'
import { certificate, noCertificates } from '../../support/certificates.ts'

const RULES = 'User-agent: *\nDisallow: /secret\n'
const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

async function portOf(server: Server): Promise<number> {
  servers.push(server.listen(0, '127.0.0.1'))
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
const site = async (answer: RequestListener) => `http://127.0.0.1:${await portOf(createPlainServer(answer))}`

/** What robots.txt has against /secret. */
async function read(origin: string, settings: Readonly<Record<string, string>> = {}) {
  const robots = await robotsOf(`${origin}/`, { HOOK_RETRY_SECONDS: '0', ...settings }, AbortSignal.timeout(10_000))
  return [robots.refusal(`${origin}/secret`), robots.isUnread ?? false]
}

it('a robots.txt that cannot be read refuses for now, one that is not there allows all', async () => {
  const port = await portOf(createPlainServer())
  await new Promise((resolve) => servers.pop()!.close(resolve))
  expect(await read(`http://127.0.0.1:${port}`)).toEqual([`connection refused by 127.0.0.1:${port}`, true])
  expect(await read(await site((_, to) => to.writeHead(502).end('User-agent: *')))).toEqual([
    'robots.txt: HTTP 502',
    true,
  ])
  expect(await read(await site((_, to) => to.writeHead(404).end(RULES)))).toEqual([undefined, false])
  const inCircles = await site((_, to) => to.writeHead(302, { location: '/robots.txt' }).end())
  expect(await read(inCircles)).toEqual([undefined, false])
})

it('rules are read behind a redirect and a compression', async () => {
  const url = await site((request, to) => {
    if (request.url === '/robots.txt') to.writeHead(301, { location: '/rules' }).end()
    else to.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(RULES))
  })
  expect(await read(url)).toEqual(['robots.txt forbids it', false])
})

it('what a host says to one user agent, or to one persona, holds for no other', async () => {
  const personas = mkdtempSync(join(tmpdir(), 'archivebox-ts-robots-'))
  mkdirSync(join(personas, 'Reader'))
  const url = await site((request, to) => {
    const { 'user-agent': agent, cookie } = request.headers
    to.end(agent === 'Known' || cookie === 'member=1' ? '' : RULES)
  })
  writeFileSync(join(personas, 'Reader', 'cookies.txt'), '127.0.0.1\tFALSE\t/\tFALSE\t0\tmember\t1\n')
  try {
    for (const _ of ['asked', 'known']) {
      expect(await read(url)).toEqual(['robots.txt forbids it', false])
      expect(await read(url, { USER_AGENT: 'Known' })).toEqual([undefined, false])
      expect(await read(url, { PERSONAS_DIR: personas, ACTIVE_PERSONA: 'Reader' })).toEqual([undefined, false])
      expect(await read(url, { COOKIES_FILE: join(personas, 'Reader', 'cookies.txt') })).toEqual([undefined, false])
    }
  } finally {
    rmSync(personas, { recursive: true })
  }
})

it.skipIf(noCertificates)(`a certificate counts as CHECK_SSL_VALIDITY says ${noCertificates}`, async () => {
  const server = createServer(certificate(), (_, to) => to.end(RULES))
  const origin = `https://127.0.0.1:${await portOf(server)}`
  expect(await read(origin)).toEqual([expect.stringContaining('self-signed certificate'), true])
  expect(await read(origin, { CHECK_SSL_VALIDITY: 'false' })).toEqual(['robots.txt forbids it', false])
})
