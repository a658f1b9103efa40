import { expect } from 'vitest'
import type { TestHome } from './homes.ts'
import { records } from './records.ts'

/** An id that no row has. */
export const NOBODY = '01994f6e-0c1a-7c3e-9d55-0123456789ab'

/** Makes a crawl of these pages without any work on it, with its snapshots in order. */
export async function queuedPages(
  home: TestHome,
  urls: readonly string[],
  ...options: string[]
): Promise<{ crawl: string; pages: string[] }> {
  const made = await records(home, ['snapshot', 'create', ...options, ...urls])
  const pages = urls.map((url) => made.find((record) => record['url'] === url)!.id)
  return { crawl: String(made[0]!['crawl_id']), pages }
}

/** Runs a runner until nothing is left to do. */
export async function runAll(home: TestHome): Promise<void> {
  const { code, stderr } = await home.run(['run', '--exit-on-idle'])
  expect(code, stderr).toBe(0)
}
