import { isIP, type Socket } from 'node:net'
import type { Texts } from '../../base/config.ts'
import { AppError } from '../../base/errors.ts'
import { own } from '../../base/own.ts'
import { blockList, isIn } from './private-host.ts'

const CONNECT_MS = 30_000

/**
 * The proxy for a host in the user's environment, as curl and wget read it: `http_proxy`, `https_proxy`, else
 * `all_proxy`, in lower or upper case, except for hosts in `no_proxy`. Undefined: none. Throws AppError for one that is
 * not a URL of a supported kind.
 */
export function proxyFor(env: Texts, protocol: 'http:' | 'https:', host: string, port: number): URL | undefined {
  const named = (name: string) => own(env, name)?.trim() || own(env, name.toUpperCase())?.trim() || undefined
  const given = named(`${protocol.slice(0, -1)}_proxy`) ?? named('all_proxy')
  if (given === undefined || isExcepted(named('no_proxy') ?? '', host, port)) return undefined
  const proxy = URL.parse(/^[a-z][a-z\d+.-]*:\/\//i.test(given) ? given : `http://${given}`)
  if (!proxy || !/^(?:https?|socks[45]?[ah]?):$/.test(proxy.protocol))
    throw new AppError('the proxy in the environment must be an http, https or socks URL')
  return proxy
}

/** Whether the proxy takes requests, and not only connections. */
export const speaksHttp = (proxy: URL | undefined): proxy is URL => /^https?:$/.test(proxy?.protocol ?? '')

/** The port of a proxy; by default 80, or that of SOCKS. */
export const portOf = ({ port, protocol }: URL): number =>
  Number(port) || (protocol === 'https:' ? 443 : protocol === 'http:' ? 80 : 1080)

/** The credentials for a proxy, as a header. */
export function authorization({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {}
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` }
}

/** Connects to a host through a proxy. Throws AppError when it refuses, and the network's error. */
export async function connectByProxy(proxy: URL, host: string, port: number): Promise<Socket> {
  return speaksHttp(proxy) ? await byHttp(proxy, host, port) : await bySocks(proxy, host, port)
}

async function byHttp(proxy: URL, host: string, port: number): Promise<Socket> {
  const { request } = process.getBuiltinModule(proxy.protocol === 'https:' ? 'node:https' : 'node:http')
  const path = isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  request({
    ...{ host: bare(proxy.hostname), port: portOf(proxy), method: 'CONNECT', path, agent: false, timeout: CONNECT_MS },
    headers: { host: path, ...authorization(proxy) },
  })
    .on('connect', ({ statusCode, statusMessage }, socket, head) => {
      if (statusCode === 200) {
        if (head.length > 0) socket.unshift(head)
        socket.setTimeout(0)
        resolve(socket as Socket)
      } else {
        socket.destroy()
        reject(new AppError(`the proxy ${proxy.host} refused: HTTP ${statusCode} ${statusMessage}`))
      }
    })
    .on('timeout', function (this: { destroy(error: Error): void }) {
      this.destroy(new AppError(`the proxy ${proxy.host} does not answer`))
    })
    .on('error', reject)
    .end()
  return await promise
}

async function bySocks(proxy: URL, host: string, port: number): Promise<Socket> {
  const { SocksClient } = await import('socks')
  const { socket } = await SocksClient.createConnection({
    proxy: {
      ...{ host: bare(proxy.hostname), port: portOf(proxy), type: proxy.protocol.startsWith('socks4') ? 4 : 5 },
      ...(proxy.username !== '' && {
        userId: decodeURIComponent(proxy.username),
        password: decodeURIComponent(proxy.password),
      }),
    },
    command: 'connect',
    destination: { host, port },
    timeout: CONNECT_MS,
  })
  return socket
}

/**
 * Whether a list such as `no_proxy` contains a host: names with their subdomains, addresses, networks, each optionally
 * with a port.
 */
function isExcepted(list: string, host: string, port: number): boolean {
  const name = bare(host).toLowerCase()
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean)
    .some((entry) => {
      if (entry === '*') return true
      const [, address, bits] = /^([\d.]+|[\da-f:]+)\/(\d{1,3})$/.exec(entry) ?? []
      if (address && isIP(address) > 0 && Number(bits) <= (isIP(address) === 6 ? 128 : 32))
        return isIP(name) > 0 && isIn(blockList([entry]), name)
      if (isIP(bare(entry)) > 0) return bare(entry) === name
      const [, rest = '', only] = /^\*?\.?(.*?)(?::(\d+))?$/.exec(entry) ?? []
      const isNamed = bare(rest) === name || (isIP(name) === 0 && name.endsWith(`.${rest}`))
      return isNamed && (only === undefined || Number(only) === port)
    })
}

/** Removes the brackets that an IPv6 address has in a URL. */
export const bare = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1')
