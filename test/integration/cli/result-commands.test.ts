import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { runAll } from '../../support/queued.ts'
import { lines, records } from '../../support/records.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(2)
})
afterAll(() => site.close())

/**
 * Two pages of one sealed crawl, on each of which `exit_1` failed, `exit_10` was skipped, and `slow` and `hashes`
 * succeeded.
 */
async function archived(): Promise<{ home: TestHome; crawl: string }> {
  const home = await homes.make()
  home.install('exit_1', 'exit_10', 'slow')
  const crawl = await home.add(
    '--plugins',
    'exit_1,exit_10,slow,hashes',
    '--tag',
    'news',
    `${site.url}/page-1.html`,
    `${site.url}/page-2.html`,
  )
  await runAll(home)
  return { home, crawl }
}

describe('result list', () => {
  it('shows every field of results, newest first, and each filter keeps what it names', async () => {
    const { home, crawl } = await archived()
    const list = async (...args: string[]) => await records(home, ['result', 'list', ...args])
    const all = await list()
    expect(all).toHaveLength(8)
    const [slow] = await list('--plugin', 'slow', '-n', '1')
    expect(slow).toEqual({
      type: 'ArchiveResult',
      id: expect.any(String),
      snapshot_id: expect.any(String),
      plugin: 'slow',
      hook_name: 'on_Snapshot__41_slow.sh',
      status: 'succeeded',
      output_str: expect.any(String),
      output_files: { 'slow.txt': { size: 5, mimetype: 'text/plain' } },
      output_size: 5,
      start_ts: expect.stringMatching(/^\d{4}-/),
      end_ts: expect.stringMatching(/^\d{4}-/),
      attempt: 1,
      process_id: expect.any(String),
      node_id: expect.any(String),
    })
    const created = await home.query<{ id: string }>('select id from archive_result order by id desc')
    expect(all.map(({ id }) => id)).toEqual(created.map(({ id }) => id))
    expect(await list('--status', 'failed')).toHaveLength(2)
    expect(await list('--status', 'failed,skipped', '--plugin', 'exit_10,slow')).toHaveLength(2)
    expect(await list('--crawl-id', crawl)).toHaveLength(8)
    expect(await list('--snapshot-id', String(slow!['snapshot_id']))).toHaveLength(4)
    expect(await list('--url__icontains', 'page-2')).toHaveLength(4)
    expect(await list('--host', new URL(site.url).host)).toHaveLength(8)
    expect(await list('--host', new URL(site.url).hostname)).toEqual([])
    expect(await list('--tag', 'news')).toHaveLength(8)
    expect(await list('--tag', 'olds')).toEqual([])
    const [first] = await home.query<{ at: Date }>(
      `select to_timestamp(('x' || translate(left(min(id::text), 13), '-', ''))::bit(48)::bigint / 1000.0) at
       from archive_result`,
    )
    const moment = first!.at.toISOString()
    expect(await list('--after', moment)).toHaveLength(8)
    expect(await list('--before', moment)).toEqual([])
    expect(await list('--after', '1h', '--status', 'failed', '--host', new URL(site.url).host)).toHaveLength(2)
    expect(await list('--before', '1h')).toEqual([])
    for (const noun of ['crawl', 'snapshot']) {
      expect(await records(home, [noun, 'list', '--after', '1h'])).not.toEqual([])
      expect(await records(home, [noun, 'list', '--before', '1h'])).toEqual([])
    }
    for (const bad of [
      ['--after', 'soon'],
      ['--after', '1h', '--before', '2h'],
    ])
      expect(await home.run(['result', 'list', ...bad])).toMatchObject({ code: 2, stdout: '' })
    expect(await records(home, ['snapshot', 'list', '--plugin', 'slow'])).toHaveLength(2)
    expect(await records(home, ['crawl', 'list', '--plugin', 'slow'])).toHaveLength(1)
    expect(await records(home, ['result', 'show', slow!.id])).toEqual([slow])
  })
})

describe('result retry', () => {
  const attempts = async (home: TestHome) =>
    (
      await home.query<{ plugin: string; attempt: number; status: string }>(
        'select plugin, attempt, status from archive_result where attempt > 1',
      )
    )
      .map(({ plugin, attempt, status }) => `${plugin} ${attempt} ${status}`)
      .sort()

  it('runs again what a list of failed results names, once for each hook; earlier attempts are kept', async () => {
    const { home } = await archived()
    const before = await home.query('select * from archive_result order by id')
    const failed = (await home.run(['result', 'list', '--status', 'failed'])).stdout
    const page = { type: 'Snapshot', id: 'passed' }
    const [passed, ...again] = await records(home, ['result', 'retry', '-'], failed + lines(page))
    expect(passed).toEqual(page)
    expect(again.map(({ type, plugin, attempt, status }) => ({ type, plugin, attempt, status }))).toEqual(
      Array(2).fill({ type: 'ArchiveResult', plugin: 'exit_1', attempt: 2, status: 'queued' }),
    )
    await runAll(home)
    expect(await attempts(home)).toEqual([
      'exit_1 2 failed',
      'exit_1 2 failed',
      'hashes 2 succeeded',
      'hashes 2 succeeded',
    ])
    // A file that was made again belongs to the later attempt.
    const handedOver = (row: Record<string, unknown>) =>
      row['plugin'] === 'hashes' ? { ...row, output_files: {}, output_size: '0' } : row
    expect(await home.query('select * from archive_result where attempt = 1 order by id')).toEqual(
      before.map(handedOver),
    )
    // The same list again: its attempts are not the latest any more.
    expect((await home.run(['result', 'retry', '-'], { input: failed })).stderr).toBe('nothing to retry\n')
  })

  it('leaves what succeeded alone, and keeps to --failed and --plugin', async () => {
    const { home } = await archived()
    const all = (await home.run(['result', 'list'])).stdout
    const retry = (...args: string[]) => records(home, ['result', 'retry', ...args, '-'], all)
    expect(await retry('--failed', '--plugin', 'exit_10,slow')).toEqual([])
    expect((await retry('--plugin', 'exit_10,slow')).map((result) => result['plugin'])).toEqual(['exit_10', 'exit_10'])
  })
})
