import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import { type AddressInfo, connect, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { SocksClient } from 'socks'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { AddressFilter } from '../../../src/browse/network/address-filter.ts'
import { withHttpFilter } from '../../../src/browse/network/http-filter.ts'
import { isOwnPeer } from '../../../src/browse/network/own-peer.ts'
import { startSocksFilter } from '../../../src/browse/network/socks-filter.ts'
import { proxyFor } from '../../../src/browse/network/user-proxy.ts'
import { noOtherUser, OTHER_USER } from '../../support/other-user.ts'
import { NODE } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'

/** The user's own proxy: what it was asked for, which it answers itself. */
const asked: { what: string; headers: IncomingHttpHeaders }[] = []
const users = createServer(({ method, url, headers }, answer) => {
  asked.push({ what: `${method} ${url}`, headers })
  answer.end('by proxy')
})
users.on('connect', ({ url, headers }, socket: Socket) => {
  asked.push({ what: `CONNECT ${url}`, headers })
  if (url?.startsWith('forbidden')) socket.end('HTTP/1.1 403 No\r\n\r\n')
  else socket.end('HTTP/1.1 200 OK\r\n\r\nby tunnel')
})
let site: Site
let usersUrl: string
let folder: string
beforeAll(async () => {
  site = await startSite({ '/': 'direct' })
  users.listen(0, '127.0.0.1')
  await once(users, 'listening')
  usersUrl = `http://me:it%3A@127.0.0.1:${(users.address() as AddressInfo).port}`
  folder = mkdtempSync(join(tmpdir(), 'archivebox-ts-proxies-'))
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  users.close()
  await site.close()
})
beforeEach(() => void asked.splice(0))

/** Everything private is blocked, but for the site; names of example.com are public, others are not. */
const filter = () =>
  AddressFilter.from(
    { BLOCK_PRIVATE_ADDRESSES: 'true', ALLOW_PRIVATE_HOSTS: new URL(site.url).host },
    (host, _, done) => done(null, [{ address: host.endsWith('example.com') ? '203.0.114.7' : '10.0.0.1', family: 4 }]),
  )
const env = (more: object = {}) => ({ http_proxy: usersUrl, HTTPS_PROXY: usersUrl, ...more })

/** What a proxy answers to a request for a URL, or to CONNECT to a host. */
async function ask(proxy: string | undefined, path: string, method = 'GET'): Promise<string> {
  const { hostname, port, username, password } = new URL(proxy!)
  const auth = username === '' ? {} : { auth: `${username}:${password}` }
  const headers =
    username === '' ? {} : { 'proxy-authorization': `Basic ${Buffer.from(auth.auth!).toString('base64')}` }
  const sent = request({ hostname, port, path, method, headers, agent: false }).end()
  const [answer, socket, head = ''] = await Promise.race([once(sent, 'response'), once(sent, 'connect')])
  return `${answer.statusCode} ${head}${await text(socket ?? answer)}`
}

describe('a proxy of ours', () => {
  it.skipIf(noOtherUser)(`serves no other account of the machine ${noOtherUser || ''}`, async () => {
    const script = `const socket = require('net').connect(+process.argv[1], '127.0.0.1')
      socket.on('error', () => {})
      socket.on('data', (data) => process.stdout.write(data)).write(Buffer.from(process.argv[2], 'base64'))`
    /** What somebody is told who writes to a port. */
    const told = async (port: number, words: string, who: object) => {
      const child = spawn(NODE, ['-e', script, String(port), btoa(words)], { ...who, cwd: '/' })
      const timer = setTimeout(() => child.kill(), 5_000)
      return await text(child.stdout).finally(() => clearTimeout(timer))
    }
    const words = `GET ${site.url}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`
    const tunnel = `CONNECT ${new URL(site.url).host} HTTP/1.1\r\n\r\n`
    await withHttpFilter({ filter: filter(), env: {} }, async (proxy) => {
      const port = Number(new URL(proxy!).port)
      expect(await told(port, words, {})).toContain('direct')
      expect(await told(port, words, OTHER_USER)).toMatch(/^HTTP\/1\.1 407/)
      expect(await told(port, tunnel, OTHER_USER)).toMatch(/^HTTP\/1\.1 407/)
    })
    const { server, port } = await startSocksFilter(filter())
    expect(await told(port, '\x05\x01\0', OTHER_USER)).toBe('')
    server.close()
    expect(site.hits('/')).toBe(1)
  })

  it('asks for a password where nothing says whose a connection is', async () => {
    await withHttpFilter({ filter: filter(), env: {}, tables: join(folder, 'none') }, async (proxy) => {
      expect(await ask(proxy, `${site.url}/`)).toBe('200 direct')
      const open = `http://${new URL(proxy!).host}`
      expect(await ask(open, `${site.url}/`)).toBe('407 ')
      expect(await ask(open, new URL(site.url).host, 'CONNECT')).toBe('407 ')
      expect(await ask(open.replace('//', '//archivebox:wrong@'), `${site.url}/`)).toBe('407 ')
    })
  })

  it('knows whose the other end is by the kernel’s table, of IPv4 and IPv6', async () => {
    const server: Server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    for (const host of ['127.0.0.1', '::ffff:127.0.0.1']) {
      const client = connect((server.address() as AddressInfo).port, host)
      const [socket] = (await once(server, 'connection')) as [Socket]
      const told: (boolean | undefined)[] = [await isOwnPeer(socket)]
      const tables = join(folder, host)
      mkdirSync(tables)
      for (const change of [
        (line: string) => line.replace(/^((?:\s*\S+){7}\s+)\d+/, '$14321'),
        (line: string) => line.replace(/^((?:\s*\S+){3}\s+)01/, '$104'),
      ]) {
        for (const name of ['tcp', 'tcp6'])
          writeFileSync(
            join(tables, name),
            readFileSync(`/proc/net/${name}`, 'latin1').split('\n').map(change).join('\n'),
          )
        told.push(await isOwnPeer(socket, tables))
      }
      told.push(await isOwnPeer(socket, join(folder, 'none')))
      expect({ host, told }).toEqual({ host, told: [true, false, false, undefined] })
      client.destroy()
    }
    server.close()
  })
})

describe('the user’s own proxy', () => {
  it('is gone through by other programs, with its password, but for what it is not for', async () => {
    await withHttpFilter({ filter: filter(), env: env({ NO_PROXY: '127.0.0.1' }) }, async (proxy) => {
      expect(await ask(proxy, 'http://a.example.com/x?y')).toBe('200 by proxy')
      expect(await ask(proxy, 'a.example.com:443', 'CONNECT')).toBe('200 by tunnel')
      expect(await ask(proxy, 'forbidden.example.com:443', 'CONNECT')).toBe('403 ')
      expect(await ask(proxy, `${site.url}/`)).toBe('200 direct')
      const shown = `Basic ${Buffer.from('me:it:').toString('base64')}`
      expect(asked.map(({ what, headers }) => [what, headers['proxy-authorization']])).toEqual(
        ['GET http://a.example.com/x?y', 'CONNECT a.example.com:443', 'CONNECT forbidden.example.com:443'].map(
          (what) => [what, shown],
        ),
      )
    })
  })

  it('is asked for nothing private, by name or address', async () => {
    await withHttpFilter({ filter: filter(), env: env() }, async (proxy) => {
      expect(await ask(proxy, 'http://10.0.0.1/')).toBe('403 ')
      expect(await ask(proxy, 'http://inside.example/')).toBe('502 ')
      expect(await ask(proxy, 'inside.example:443', 'CONNECT')).toBe('403 ')
      expect(await ask(proxy, 'http://169.254.169.254/')).toBe('403 ')
      expect(asked).toEqual([])
    })
  })

  it('is gone through by the browser: by requests for HTTP, by a tunnel for all else', async () => {
    const { server, port } = await startSocksFilter(filter(), env())
    const through = async (host: string, words: string | Buffer) => {
      const proxy = { host: '127.0.0.1', port, type: 5 } as const
      const { socket } = await SocksClient.createConnection({
        proxy,
        command: 'connect',
        destination: { host, port: 80 },
      })
      socket.write(words)
      return await text(socket)
    }
    const get = (more = '') => `GET /x HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n${more}\r\n`
    expect(await through('a.example.com', get())).toContain('by proxy')
    expect(await through('a.example.com', Buffer.from([0x16, 3, 1]))).toBe('by tunnel')
    expect(await through('a.example.com', get('Connection: Upgrade\r\nUpgrade: websocket\r\n'))).toBe('by tunnel')
    expect(await through('inside.example', get())).toMatch(/^HTTP\/1\.1 502 inside\.example leads to the private/)
    await expect(through('10.0.0.1', get())).rejects.toThrow()
    expect(asked.map(({ what }) => what)).toEqual([
      ...['GET http://a.example.com/x', 'CONNECT a.example.com:80', 'CONNECT a.example.com:80'],
    ])
    server.close()
  })

  it('may speak SOCKS', async () => {
    const open = AddressFilter.from({})
    const own = await startSocksFilter(open)
    await withHttpFilter({ filter: filter(), env: { ALL_PROXY: `socks5h://127.0.0.1:${own.port}` } }, async (proxy) => {
      expect(await ask(proxy, `${site.url}/`)).toBe('200 direct')
    })
    own.server.close()
  })

  it.each([
    ['http:', 'a.example', 80, { http_proxy: 'one:1', HTTP_PROXY: 'two:2' }, 'http://one:1/'],
    ['https:', 'a.example', 443, { ALL_PROXY: 'socks5://three:3', http_proxy: 'one:1' }, 'socks5://three:3'],
    ['https:', 'a.example', 443, { http_proxy: 'one:1' }, undefined],
    ['http:', 'x.a.example', 80, { all_proxy: 'one:1', no_proxy: 'b.example, .a.example' }, undefined],
    ['http:', 'xa.example', 80, { all_proxy: 'one:1', no_proxy: 'a.example' }, 'http://one:1/'],
    ['http:', 'a.example', 81, { all_proxy: 'one:1', no_proxy: 'a.example:80' }, 'http://one:1/'],
    ['http:', '10.1.2.3', 80, { all_proxy: 'one:1', no_proxy: '10.0.0.0/8' }, undefined],
    ['http:', '::1', 80, { all_proxy: 'one:1', no_proxy: '[::1]' }, undefined],
    ['http:', 'a.example', 80, { all_proxy: 'one:1', no_proxy: '*' }, undefined],
    ['http:', 'a.example', 80, { http_proxy: ' ', no_proxy: '' }, undefined],
  ] as const)('is found for %s of %s:%i in %j: %s', (protocol, host, port, texts, found) => {
    expect(proxyFor(texts, protocol, host, port)?.href).toBe(found)
  })
})
