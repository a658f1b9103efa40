import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { hostRules } from '../../../src/browse/browser/host-rules.ts'
import { request } from '../../../src/browse/http/request.ts'
import { fetchPage } from '../../../src/browse/index.ts'
import { AddressFilter, type Resolve } from '../../../src/browse/network/address-filter.ts'
import { withHttpFilter } from '../../../src/browse/network/http-filter.ts'
import { isPrivateAddress } from '../../../src/browse/network/private-host.ts'
import { startSocksFilter } from '../../../src/browse/network/socks-filter.ts'
import { type Site, startSite } from '../../support/site.ts'

let open: Site
let secret: Site
beforeAll(async () => {
  secret = await startSite({ '/': 'secret' })
  open = await startSite({
    '/': 'open',
    '/moved': (_request, response) => response.writeHead(302, { location: secret.url }).end(),
  })
})
afterAll(async () => {
  await Promise.all([open.close(), secret.close()])
})

const settings = () => ({ BLOCK_PRIVATE_ADDRESSES: 'true', ALLOW_PRIVATE_HOSTS: new URL(open.url).host })
const portOf = (site: Site) => Number(new URL(site.url).port)
/** Some names lead to this machine. */
const resolve: Resolve = (hostname, _options, done) =>
  done(null, [{ address: hostname.endsWith('.example') ? '127.0.0.1' : '192.0.2.1', family: 4 }])

it('knows the addresses of a network of one’s own in all their spellings', () => {
  for (const address of [
    ...['127.0.0.1', '10.1.2.3', '172.16.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1', '0.0.0.0', '224.0.0.1'],
    ...['::1', '::', '::ffff:10.0.0.1', '::ffff:a00:1', '::7f00:1', '64:ff9b::a00:1', '64:ff9b::1', '2002:a00:1::'],
    ...['fd00:ec2::254', 'fe80::1%eth0', 'fec0::1', 'ff02::1', '64:ff9b:1::808:808', '::ffff:0:10.0.0.1'],
    ...['64:ff9b:0:0::10.0.0.1', '64:FF9B::0A00:1'],
  ])
    expect({ address, isPrivate: isPrivateAddress(address) }).toEqual({ address, isPrivate: true })
  for (const address of ['8.8.8.8', '100.128.0.1', '172.32.0.1', '2606:4700::1111', '64:ff9b::808:808'])
    expect({ address, isPrivate: isPrivateAddress(address) }).toEqual({ address, isPrivate: false })
})

it('refuses hosts by name, whatever a URL calls them, but for exceptions', () => {
  expect(AddressFilter.ofPrivate({})).toBeUndefined()
  const given = 'nas.local,10.1.0.0/16,wiki:8080,[fd00::1]:80,10.9.9.9/99,192.168.0.7'
  const filter = AddressFilter.from({ BLOCK_PRIVATE_ADDRESSES: 'true', ALLOW_PRIVATE_HOSTS: given })!
  const hosts = (...words: string[]) => words.map((word) => `http://${word}/`)
  for (const url of hosts(
    ...['localhost', 'LOCALHOST.', 'a.localhost', 'printer', 'x.internal', '2130706433', '0x7f.1', '0177.0.0.1'],
    ...['[::1]', '[::ffff:7f00:1]', '0', '169.254.169.254', 'wiki', '[fd00::1]:81', '10.9.9.9', '192.168.0.8'],
  ))
    expect({ url, why: filter.refusalOf(url) }).toMatchObject({ why: expect.stringContaining('(BLOCK_PRIVATE_') })
  for (const url of hosts(
    'nas.local',
    '10.1.255.1',
    'wiki:8080',
    '[fd00::1]',
    'example.com',
    '8.8.8.8',
    '192.168.0.7:1',
  ))
    expect({ url, why: filter.refusalOf(url) }).toEqual({ url, why: undefined })
})

it('refuses link-local addresses and metadata services by default, however they are written', () => {
  const why = (host: string, allowed = '') =>
    AddressFilter.from({ ALLOW_PRIVATE_HOSTS: allowed }).refusalOf(`http://${host}/`)
  for (const host of [
    ...['169.254.169.254', '2852039166', '0xa9.254.0251.254', '0xa9fea9fe', '169.254.43518', '169.254.169.254.'],
    ...['[::ffff:169.254.169.254]', '[::ffff:a9fe:a9fe]', '[64:ff9b::a9fe:a9fe]', '[::a9fe:a9fe]', '[fe80::1]'],
    ...['[febf::1]', '[2002:a9fe:a9fe::]', '[::ffff:0:a9fe:a9fe]', '[64:ff9b:1::a9fe:a9fe]'],
    ...[
      '[64:ff9b:1:2:3::a9fe:a9fe]',
      '[64:ff9b::169.254.1.2]',
      '[2001::5601:5601]',
      '[2001:0:808:808:8000:63bf:5601:5601]',
    ],
  ])
    expect({ host, why: why(host) }).toMatchObject({
      why: expect.stringMatching(/^refused: \S+ is a link-local address \(ALLOW_PRIVATE_HOSTS opens it\)$/),
    })
  for (const host of [
    ...['100.100.100.200', '1684301000', '[::ffff:100.100.100.200]', '[fd00:ec2::254]', 'METADATA.google.internal.'],
    ...['[64:ff9b::6464:64c8]', '[64:ff9b:1::6464:64c8]', '[2001:0:1:2:3:4:9b9b:9b37]', '[2002:6464:64c8::1]'],
    ...[
      '[::6464:64c8]',
      '[::ffff:0:c000:c0]',
      'metadata.goog',
      'instance-data',
      'instance-data.ec2.internal',
      'metadata',
    ],
  ])
    expect({ host, why: why(host) }).toMatchObject({ why: expect.stringContaining('a metadata service (ALLOW_') })
  for (const host of ['127.0.0.1', 'localhost', '10.1.2.3', '[::1]', '[fd00::1]', '100.100.100.201', '8.8.8.8', 'nas'])
    expect({ host, why: why(host) }).toEqual({ host, why: undefined })
  // What looks like one, but is elsewhere in the address, or not inverted.
  for (const host of [
    '[64:ff9b:1::808:808]',
    '[64:ff9b:2::a9fe:a9fe]',
    '[2001::a9fe:a9fe]',
    '[2001:db8::5601:5601]',
    '[2003:a9fe:a9fe::]',
  ])
    expect({ host, why: why(host) }).toEqual({ host, why: undefined })
  expect(why('169.254.169.254', '169.254.0.0/16')).toBeUndefined()
  expect(why('[2001::5601:5601]', '169.254.0.0/16')).toBeUndefined()
  expect(why('169.254.169.254', '169.254.169.254:80')).toBeUndefined()
  expect(why('169.254.169.254:81', '169.254.169.254:80')).toBeDefined()
  expect(why('metadata.google.internal', 'Metadata.Google.internal')).toBeUndefined()
})

it('keeps a browser from them by rules that leave the exceptions, and those of the user', () => {
  const rules = (allowed: string, ...given: string[]) =>
    hostRules(AddressFilter.from({ ALLOW_PRIVATE_HOSTS: allowed }), given)
  expect(rules('')).toEqual([expect.stringContaining('MAP 169.254.* ~NOTFOUND,')])
  for (const address of ['64:ff9b:1:*a9fe:*', '2001::*5601:????', '2001:0:*9b9b:9b37', '2002:a9fe:*:*'])
    expect(rules('')).toEqual([expect.stringContaining(`MAP ${address} ~NOTFOUND,`)])
  expect(rules('169.254.1.1:80,[fe80::1]')).toEqual([
    expect.stringMatching(/MAP 169\.254\.\*.*,EXCLUDE 169\.254\.1\.1,EXCLUDE fe80::1$/),
  ])
  expect(rules('metadata,169.254.0.0/16')).toEqual([expect.not.stringMatching(/169\.254|MAP metadata ~/)])
  expect(rules('', '--lang=de', '--host-resolver-rules=MAP a b')).toEqual([expect.stringMatching(/,MAP a b$/)])
})

it('runs another program beside nothing when nothing else is kept out, unless its own URL is refused', async () => {
  const named: Resolve = (_hostname, _options, done) => done(null, [{ address: '169.254.169.254', family: 4 }])
  const around = { filter: AddressFilter.from({}, named), env: {} }
  const run = async (proxy: string | undefined) => `ran: ${proxy}`
  await expect(withHttpFilter({ ...around, url: 'https://rebound.example/' }, run)).rejects.toThrow(
    'leads to the link-local',
  )
  await expect(withHttpFilter({ ...around, url: 'http://[fe80::1]/' }, run)).rejects.toThrow('is a link-local address')
  expect(await withHttpFilter({ ...around, url: 'http://127.0.0.1/' }, run)).toBe('ran: undefined')
  expect(await withHttpFilter(around, run)).toBe('ran: undefined')
})

it('lets a request through a redirect, or a name, to what is open only', async () => {
  const context = (url: string) => ({ url, env: settings(), signal: AbortSignal.timeout(5_000) })
  const ask = async (url: string) => (await fetchPage(context(url), url)).status
  expect(await ask(open.url)).toBe(200)
  await expect(ask(`${open.url}/moved`)).rejects.toThrow('127.0.0.1 is a private address (BLOCK_PRIVATE_ADDRESSES)')
  const filter = AddressFilter.from(settings(), resolve)
  const named = new URL(secret.url)
  named.hostname = 'rebound.example'
  const asked = { headers: {}, signal: AbortSignal.timeout(5_000), verifyTls: true }
  await expect(request(named, { ...asked, filter })).rejects.toThrow(
    'rebound.example leads to the private address 127.0.0.1 (BLOCK_PRIVATE_ADDRESSES)',
  )
  expect(secret.hits('/')).toBe(0)
  const without = await request(new URL(secret.url), asked)
  without.destroy()
  await expect(request(new URL(secret.url), { ...asked, filter })).rejects.toThrow('a private address')
})

it('gives other programs a proxy that does the same', async () => {
  await withHttpFilter({ filter: AddressFilter.from(settings(), resolve), env: {} }, async (proxy) => {
    const { hostname, port } = new URL(proxy!)
    const ask = async (path: string, method = 'GET') =>
      await new Promise<string>((done, fail) => {
        const sent = httpRequest({ hostname, port, path, method }, (answer) => {
          let text = `${answer.statusCode} `
          answer.setEncoding('utf8').on('data', (piece: string) => {
            text += piece
          })
          answer.on('end', () => done(text))
        })
        sent.on('connect', ({ statusCode }, socket) => {
          socket.destroy()
          done(`${statusCode}`)
        })
        sent.on('error', fail).end()
      })
    const before = secret.hits('/')
    expect(await ask(`${open.url}/`)).toBe('200 open')
    expect(await ask(`${secret.url}/`)).toMatch(/^403/)
    expect(await ask(`http://rebound.example:${portOf(secret)}/`)).toMatch(/^502/)
    expect(await ask(`127.0.0.1:${portOf(open)}`, 'CONNECT')).toBe('200')
    expect(await ask(`127.0.0.1:${portOf(secret)}`, 'CONNECT')).toBe('403')
    expect(await ask(`rebound.example:${portOf(secret)}`, 'CONNECT')).toBe('403')
    expect(secret.hits('/')).toBe(before)
  })
})

it('keeps no connection of a browser that has left it to a host that stays', async () => {
  const silent = createServer({ allowHalfOpen: true }, (socket) => void socket.resume()).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const allowed = { BLOCK_PRIVATE_ADDRESSES: 'true', ALLOW_PRIVATE_HOSTS: `127.0.0.1:${port}` }
  const proxy = await startSocksFilter(AddressFilter.from(allowed)!)
  const browser = connect(proxy.port, '127.0.0.1')
  browser.write(Buffer.of(5, 1, 0))
  await once(browser, 'data')
  browser.write(Buffer.of(5, 1, 0, 1, 127, 0, 0, 1, port >> 8, port & 255))
  expect((await once(browser, 'data'))[0][1]).toBe(0)
  browser.end()
  await once(browser, 'close')
  await new Promise((resolve) => proxy.server.close(resolve))
  silent.close()
})
