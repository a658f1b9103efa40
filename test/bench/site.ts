import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/**
 * An index and `pages` real pages of about 7 kB on a loopback port, served by a process of its own while `work` runs.
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
