// What a bare script needs for the same pages: fetch, parse, write the same files, flush each file and folder, and one
// statement a page. It parses as anyone would, with the libraries as they are and nothing of ours: what we do to them
// counts. `node bare-process.ts DATABASE_URL DIR`, with the URLs in a message.
import { hash } from 'node:crypto'
import { closeSync, fsyncSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { Agent, get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { Readability } from '@mozilla/readability'
import { parseHTML } from 'linkedom'
import pg from 'pg'

const [databaseUrl = '', dir = ''] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true })
const fetched = (url: string) =>
  new Promise<IncomingMessage>((resolve, reject) => void get(url, { agent }, resolve).on('error', reject))

function flush(path: string): void {
  const fd = openSync(path, 'r')
  fsyncSync(fd)
  closeSync(fd)
}

async function archive(url: string, root: string): Promise<Record<string, string | Buffer>> {
  const answer = await fetched(url)
  const bytes = await buffer(answer)
  const html = bytes.toString()
  const icon = await buffer(await fetched(new URL('/favicon.ico', url).href))
  const { document } = parseHTML(html)
  const title = document.title
  const links = new Set<string>()
  for (const link of document.querySelectorAll('a[href]')) {
    const href = URL.parse(link.getAttribute('href') ?? '', url)?.href
    if (href?.startsWith('http')) links.add(href)
  }
  const article = new Readability(document as never).parse()
  const files: Record<string, string | Buffer> = {
    'headers/headers.json': JSON.stringify(answer.headers, null, 2),
    'html/output.html': bytes,
    'favicon/favicon.ico': icon,
    'title/title.txt': title,
    'parse_html_urls/urls.jsonl': [...links]
      .map((link) => `${JSON.stringify({ type: 'Snapshot', url: link })}\n`)
      .join(''),
  }
  if (article) {
    const { content, textContent, ...about } = article
    files['readability/content.html'] = `<!doctype html><title>${article.title}</title>${content}`
    files['readability/content.txt'] = textContent ?? ''
    files['readability/article.json'] = JSON.stringify(about, null, 2)
  }
  files['hashes/hashes.json'] = JSON.stringify(
    Object.entries(files).map(([path, data]) => [path, hash('sha256', data)]),
  )
  files['index.jsonl'] = JSON.stringify({ url, files: Object.keys(files) })
  files['index.html'] = `<!doctype html><title>${url}</title>${Object.keys(files).join('<br>')}`
  const folders = new Set([root])
  for (const [path, data] of Object.entries(files)) {
    const folder = join(root, path, '..')
    if (!folders.has(folder)) mkdirSync(folder, { recursive: true })
    folders.add(folder)
    writeFileSync(join(root, path), data)
    flush(join(root, path))
  }
  for (const folder of folders) flush(folder)
  return files
}

process.on('message', async (urls: string[]) => {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  await client.query('create table if not exists bare (url text primary key, files jsonb)').catch(() => {})
  for (const [index, url] of urls.entries()) {
    const root = join(dir, `${process.pid}-${index}`)
    mkdirSync(root)
    const files = await archive(url, root)
    await client.query({
      name: 'add',
      text: 'insert into bare values ($1, $2)',
      values: [url, JSON.stringify(Object.keys(files))],
    })
  }
  await client.end()
  process.exit(0)
})
