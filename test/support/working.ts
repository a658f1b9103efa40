import { expect } from 'vitest'
import type { TestHome } from './homes.ts'
import { pidsOf } from './observer.ts'
import { eventually } from './program.ts'

/** A runner that works on a page with a hook that does not end by itself, and its four levels of processes. */
export async function working(home: TestHome, page: string): Promise<{ crawl: string; end(): Promise<void> }> {
  home.install('slow')
  // Otherwise it ends after a minute, which other tests of the file may take.
  const settings = ['-c', 'SLOW_SECONDS=1000', '-c', 'TIMEOUT=1000']
  const crawl = await home.add('--plugins', 'slow,html', ...settings, page)
  const runner = home.start(['run'])
  await eventually(async () => (await pidsOf(home, 'hook')).length === 1)
  // Its result is written a moment after its process ends.
  await eventually(() => home.value("select true from archive_result where status = 'started' and plugin = 'slow'"))
  const end = async () => {
    await home.query("update crawl set config = jsonb_set(config, '{env,SLOW_SECONDS}', '\"0\"')")
    await new Promise((resolve) => setTimeout(resolve, 200)) // Two signals within 150 ms count as one.
    runner.signal('SIGTERM')
    await runner.says(/draining/)
    await new Promise((resolve) => setTimeout(resolve, 200))
    runner.signal('SIGTERM')
    expect((await runner.finished()).code).toBe(130)
  }
  return { crawl, end }
}
