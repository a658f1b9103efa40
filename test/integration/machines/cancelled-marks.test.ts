// What was cancelled is completed by its own mark, not by the log of transitions.
import { existsSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { failpoints } from '../../support/failpoints.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { holdingPlugin } from '../../support/plugins.ts'
import { processesOf } from '../../support/processes.ts'
import { eventually } from '../../support/program.ts'
import { queuedPages, runAll } from '../../support/queued.ts'
import { records } from '../../support/records.ts'
import { startSite } from '../../support/site.ts'

const homes = useHomes()

/** Two pages whose cancelling died before it had written any index; nobody knows of it but their marks. */
async function cancelled(): Promise<{ home: TestHome; crawl: string; dirs: string[] }> {
  const home = await homes.make()
  const { crawl, pages } = await queuedPages(home, ['http://127.0.0.1:1/a', 'http://127.0.0.1:1/b'])
  const cancel = await home.run(['crawl', 'cancel', crawl], { env: failpoints(home, 'publish.file_aside=kill9') })
  expect(cancel.signal).toBe('SIGKILL')
  expect(await home.query('select status from snapshot')).toEqual(pages.map(() => ({ status: 'sealed' })))
  await home.query('truncate transition')
  const rows = await home.query<{ output_dir: string }>('select output_dir from snapshot')
  return { home, crawl, dirs: rows.map(({ output_dir }) => join(home.dataDir, output_dir)) }
}

const marks = (home: TestHome) => home.value<number>('select count(*)::int from cancelled_page')

describe('what was cancelled', () => {
  it('is completed by the next leader, whatever became of the log', async () => {
    const { home, dirs } = await cancelled()
    await runAll(home)
    for (const dir of dirs) expect(readdirSync(dir).sort()).toEqual(['index.html', 'index.jsonl'])
  })

  it('where one page cannot be written, costs neither the leader nor the other pages', async () => {
    const { home, dirs } = await cancelled()
    await mkdir(join(dirs[0]!, 'index.html'), { recursive: true })
    utimesSync(join(dirs[0]!, 'index.html'), 0, 0)
    const runner = home.start(['run'])
    await runner.says(/cancellations are completed later/)
    await eventually(() => existsSync(join(dirs[1]!, 'index.html')))
    expect(runner.isOver, runner.stderr).toBe(false)
    runner.signal('SIGTERM')
    expect((await runner.finished()).code, runner.stderr).toBe(0)
  })

  it('is looked at for ten minutes, since whoever worked on it may notice late; then its mark is gone', async () => {
    const { home, dirs } = await cancelled()
    await runAll(home)
    expect(await marks(home)).toBe(2)
    await mkdir(join(dirs[0]!, '.work'))
    await runAll(home)
    expect(existsSync(join(dirs[0]!, '.work')), 'it is not due for a look').toBe(true)
    await home.query("update cancelled_page set at = at - interval '601 s', look_at = now()")
    await runAll(home)
    expect(existsSync(join(dirs[0]!, '.work'))).toBe(false)
    expect(await marks(home)).toBe(0)
  })

  it('is completed by a runner before it leaves, though its next round is not due', async () => {
    const site = await startSite(1)
    try {
      const home = await homes.make()
      const { letGo } = holdingPlugin(home, 'holds')
      const { crawl } = await queuedPages(home, ['http://127.0.0.1:1/a'])
      await records(home, ['crawl', 'pause', crawl])
      await home.add('--plugins', 'holds', `${site.url}/page-1.html`)
      const runner = home.start(['run', '--exit-on-idle'])
      await eventually(() => processesOf(home.dataDir).some(({ command }) => command.includes('holds')))
      const cancel = await home.run(['crawl', 'cancel', crawl], { env: failpoints(home, 'publish.file_aside=kill9') })
      expect(cancel.signal).toBe('SIGKILL')
      letGo()
      expect((await runner.finished()).code).toBe(0)
      const dir = await home.value<string>('select output_dir from snapshot where crawl_id = $1', [crawl])
      expect(existsSync(join(home.dataDir, dir, 'index.html'))).toBe(true)
    } finally {
      await site.close()
    }
  })

  it('is left alone once somebody works on it again', async () => {
    const { home, crawl, dirs } = await cancelled()
    expect((await home.run(['crawl', 'retry', crawl])).code).toBe(0)
    await mkdir(join(dirs[0]!, '.work'), { recursive: true })
    writeFileSync(join(dirs[0]!, '.work', 'of-a-worker'), '')
    await home.query("update snapshot set retry_at = now() + interval '1 hour'")
    await home.query("update crawl set retry_at = now() + interval '1 hour'")
    await runAll(home)
    expect(statSync(join(dirs[0]!, '.work', 'of-a-worker')).isFile()).toBe(true)
    expect(await marks(home)).toBe(0)
  })
})
