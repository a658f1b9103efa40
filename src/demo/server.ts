import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { extname } from 'node:path'
import { AppError } from '../base/errors.ts'

export interface DemoSite {
  /** `http://127.0.0.1:PORT/` */
  readonly url: string
  close(): Promise<void>
}

const TYPES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '.css': 'text/css; charset=utf-8',
    '.html': 'text/html; charset=utf-8',
    '.ico': 'image/x-icon',
    '.pdf': 'application/pdf',
    '.png': 'image/png',
    '.svg': 'image/svg+xml',
  }),
)

/** Beside the source, beside the bundle, and beside a chunk of the bundle. */
const PLACES = ['./site/', './demo-site/', '../demo-site/']

/**
 * Serves the demo site on a free loopback port until it is closed. It is small, so all of it is kept in memory; no path
 * leads out of it.
 */
export async function serveDemo(): Promise<DemoSite> {
  const dir = PLACES.map((place) => new URL(place, import.meta.url)).find((place) =>
    existsSync(new URL('index.html', place)),
  )
  if (!dir) throw new AppError('the demo site is missing', { hint: 'npm run build' })
  const files = new Map(readdirSync(dir).map((name) => [`/${name}`, readFileSync(new URL(name, dir))]))

  const { createServer } = await import('node:http') // No other start pays for it.
  const server = createServer((request, response) => {
    const [path = '/'] = (request.url ?? '/').split('?')
    const name = path === '/' ? '/index.html' : path
    const body = files.get(name)
    if (request.method !== 'GET' && request.method !== 'HEAD') response.writeHead(405, { allow: 'GET, HEAD' }).end()
    else if (!body) response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('Not found\n')
    else {
      response.writeHead(200, {
        'content-type': TYPES.get(extname(name)) ?? 'application/octet-stream',
        'content-length': body.length,
      })
      response.end(request.method === 'HEAD' ? undefined : body)
    }
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
