import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Meanings } from '../../../src/base/makes.ts'
import type { Home } from '../../../src/db/home.ts'
import type { ResultOfPage } from '../../../src/db/results.ts'
import type { SnapshotRow } from '../../../src/db/snapshots.ts'
import { withoutIndex } from '../../../src/machines/verdict.ts'
import { writeSnapshotPages } from '../../../src/workers/index/index-pages.ts'
import { newFolder } from '../../support/folders.ts'

let dataDir: string
beforeEach(() => {
  dataDir = newFolder()
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

const at = new Date('2026-11-24T00:00:00Z')
const snapshot = {
  ...{ id: 'page', url: 'http://a.example/<b>', title: 'A page', depth: 0, output_dir: 'archive/page' },
  ...{ outcome: 'archived', cause: null, status: 'sealed', status_changed_at: at, created_at: at },
  url_hash: Buffer.alloc(8),
} as unknown as SnapshotRow
const result = {
  ...{ id: 'result', plugin: 'html', hook_name: 'on_Snapshot__20_html', status: 'succeeded', attempt: 1 },
  ...{ output_str: 'output.html', output_json: null, start_ts: at, end_ts: at, output_size: 1 },
}
const write = (output_files: unknown) => {
  const results = [{ ...result, output_files } as unknown as ResultOfPage]
  const crawl = { output_dir: 'archive/crawl', home_node: null }
  const known = { snapshot, crawl, results, isCopied: false, tags: [], meanings: new Meanings([]) }
  return writeSnapshotPages({ dataDir } as Home, snapshot.id, known)
}
const read = (name: string) => readFileSync(join(dataDir, snapshot.output_dir, name), 'utf8')

describe('the index of a page', () => {
  it('is whole where its rows are', async () => {
    expect(await write({ 'output.html': { size: 1, mimetype: 'text/html' } })).toBeUndefined()
    expect(read('index.html')).toContain('class="verdict"')
    expect(JSON.parse(read('index.jsonl').split('\n')[0]!)).toMatchObject({ outcome: 'archived', cause: null })
  })

  it('that cannot be shown is a plain one, which says why, and so do the records and the verdict', async () => {
    // As an older program wrote it: the type of x.constructor was a function, which JSON leaves out.
    const why = await write({ 'x.constructor': { size: 1 } })
    expect(why).toMatch(/^its index cannot be shown: Cannot read properties of undefined/)
    expect(read('index.html')).toContain('http://a.example/&#60;b&#62;')
    expect(read('index.html')).toContain('its index cannot be shown')
    expect(JSON.parse(read('index.jsonl').split('\n')[0]!)).toMatchObject({ outcome: 'partial', cause: why })
    expect(withoutIndex({ outcome: 'failed', cause: 'HTTP 404' }, why)).toMatchObject({ cause: 'HTTP 404' })
    expect(existsSync(join(dataDir, snapshot.output_dir))).toBe(true)
  })

  it('waits for the machine, which mends', async () => {
    const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
    const files = new Proxy(
      {},
      {
        ownKeys: () => {
          throw full
        },
      },
    )
    await expect(write(files)).rejects.toThrow('no space left')
  })
})
