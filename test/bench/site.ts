import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/**
 * An index and `pages` pages on a loopback port, served by a process of its own while `work` runs: HTML files of the
 * folder BENCH_PAGES, or without it prose of about 7 kB, which costs less to parse than most pages do.
 */
export async function withSite<T>(pages: number, work: (url: string) => Promise<T>): Promise<T> {
  const child = fork(join(import.meta.dirname, 'site-process.ts'), [String(pages)])
  try {
    const [url] = await once(child, 'message')
    return await work(String(url))
  } finally {
    child.disconnect()
    await once(child, 'exit')
  }
}
