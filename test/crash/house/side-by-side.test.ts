// A snapshot worker has pages at work side by side: what happens to the process, or to one of the pages, must not
// harm the others.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../../src/db/database.ts'
import { pauseSnapshots, resumeSnapshots } from '../../../src/machines/commands.ts'
import { expectComplete, resultsOf } from '../../support/archive.ts'
import { failpoints, fired } from '../../support/failpoints.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { pidsOf } from '../../support/observer.ts'
import { bringToStand } from '../../support/processes.ts'
import { eventually } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes({ MAX_SNAPSHOT_WORKERS: '2' })
let site: Site
beforeAll(async () => {
  site = await startSite(4)
})
afterAll(() => site.close())

/** Says which page it begins, and for which worker; it goes on when it may, and says so when it is there twice. */
const WAITS = `#!/usr/bin/env bash
page=\${1##*/}
exec 9>>"$DATA_DIR/$page.lock"
flock -n 9 || echo "$page twice" >>"$DATA_DIR/overlaps.log"
echo "$page $ARCHIVEBOX_WORKER_ID" >>"$DATA_DIR/begun.log"
until [[ -e "$DATA_DIR/go" || -e "$DATA_DIR/go-$page" ]]; do sleep 0.05; done
echo done >done.txt
`

/** A runner that has both pages at work in one worker, and what more is due. */
async function withPages(count: number, env: (home: TestHome) => Record<string, string> = () => ({})) {
  const home = await homes.make()
  const dir = join(home.dataDir, 'plugins', 'waits')
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'on_Snapshot__40_waits.sh'), WAITS)
  chmodSync(join(dir, 'on_Snapshot__40_waits.sh'), 0o755)
  const urls = Array.from({ length: count }, (_, at) => `${site.url}/page-${at + 1}.html`)
  const crawl = await home.add('--plugins', 'waits', '-c', 'TIMEOUT=1000', ...urls)
  const runner = home.start(['run', '--exit-on-idle'], { env: env(home) })
  /** The page and its worker each time that one was begun. */
  const begun = () => {
    const file = join(home.dataDir, 'begun.log')
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
    return lines.map((line) => line.split(' ') as [page: string, worker: string])
  }
  const haveBegun = async (times: number) => await eventually(() => begun().length >= times)
  const go = (page = '') => writeFileSync(join(home.dataDir, page === '' ? 'go' : `go-${page}`), '')
  await haveBegun(Math.min(count, 2))
  const [worker] = await pidsOf(home, 'snapshot')
  /** Lets all hooks end, and expects all pages to be archived, by hooks of which none ran twice at once. */
  const ends = async () => {
    go()
    expect((await runner.finished()).code, runner.stderr).toBe(0)
    await expectComplete(home, crawl)
    expect((await resultsOf(home, crawl)).map(({ status }) => status)).toEqual(urls.map(() => 'succeeded'))
    expect(existsSync(join(home.dataDir, 'overlaps.log'))).toBe(false)
  }
  return { home, runner, worker: worker!, begun, haveBegun, go, ends }
}

describe('a worker with pages side by side', () => {
  it('that is asked to leave ends both, each once; others take the rest, and it gets no more', async () => {
    const { home, worker, begun, haveBegun, go, ends } = await withPages(4)
    process.kill(worker, 'SIGTERM')
    const [[first], [second, asked]] = begun() as [[string, string], [string, string]]
    go(first)
    await haveBegun(3) // While it still has the second page.
    expect(begun().map(([, by]) => by === asked)).toEqual([true, true, false])
    go(second)
    await ends()
    expect(begun().map(([, by]) => by === asked)).toEqual([true, true, false, false])
    expect(await home.query('select status, exit_code from process where id = $1', [asked])).toEqual([
      { status: 'exited', exit_code: 0 },
    ])
  })

  it('that is killed loses both; each is archived by a worker of its own, at the same time; later ones side by side again', async () => {
    const { home, worker, begun, haveBegun, go, ends } = await withPages(4)
    const others = 'update snapshot set retry_at = now() + $1::interval where attempts = 0'
    await home.query(others, ['1 hour'])
    process.kill(worker, 'SIGKILL')
    await haveBegun(4)
    expect(new Set(begun().map(([, by]) => by)).size).toBe(3)
    await home.query(others, ['0 s'])
    for (const [page] of begun().slice(2)) go(page)
    await haveBegun(6)
    expect(new Set(begun().map(([, by]) => by)).size).toBe(4)
    await ends()
    expect(begun()).toHaveLength(6)
  })

  it('may have four; when it is killed, each of them is archived by a worker of its own', async () => {
    const { worker, begun, haveBegun, ends } = await withPages(4, () => ({ MAX_SNAPSHOT_WORKERS: '4' }))
    await haveBegun(4)
    expect(new Set(begun().map(([, by]) => by)).size).toBe(1)
    process.kill(worker, 'SIGKILL')
    await haveBegun(8)
    expect(new Set(begun().map(([, by]) => by)).size).toBe(5)
    await ends()
    expect(begun()).toHaveLength(8)
  })

  it('that stands still is killed, and said to be, once', async () => {
    const { home, runner, worker, haveBegun, ends } = await withPages(2)
    expect(await bringToStand(worker)).toBe(true)
    await home.query("update snapshot set retry_at = now() - interval '20 s'") // Its leases ran out long ago.
    await haveBegun(4)
    await ends()
    expect(runner.stderr.match(/.*(killing it|died \().*/g)).toEqual([
      expect.stringContaining(`worker ${worker} does not renew its lease: killing it`),
      expect.stringContaining(`worker ${worker} died (SIGKILL): 2 claims are due again`),
    ])
  })

  it('that is forced to stop, and cannot release one of them, waits for the other one', async () => {
    const { home, runner, worker } = await withPages(2, (home) =>
      failpoints(home, 'publish.late_hook_killed=sleep:1000'),
    )
    await home.query('create sequence cut_page start 100')
    await home.query(`create function cut_off() returns trigger language plpgsql as $$
      declare
        page int := substring(new.url from 'page-([0-9])')::int;
        cut int := last_value from cut_page;
      begin
        if cut = 100 then cut := setval('cut_page', page); end if;
        if cut = page then perform pg_terminate_backend(pg_backend_pid()), pg_sleep(1); end if;
        return new;
      end $$`)
    await home.query(`create trigger cut_off before update on snapshot for each row
      when (new.claimed_by is null and current_setting('application_name') like '%snapshot%')
      execute function cut_off()`)
    runner.signal('SIGTERM')
    await runner.says(/draining/)
    await new Promise((resolve) => setTimeout(resolve, 200)) // Two signals within 150 ms count as one.
    runner.signal('SIGTERM')
    expect((await runner.finished()).code).toBe(130)
    expect(runner.stderr).toContain(`worker ${worker} died (exit code 1): 1 claims are due again`)
  })

  it('does not begin a page again that was taken from it before it has noticed', async () => {
    const { home, haveBegun, ends } = await withPages(1, (home) => failpoints(home, 'claim.renewed=sleep:2000'))
    const db = openDatabase(home.databaseUrl, { name: 'the test' })
    try {
      const id = await home.value<string>('select id from snapshot')
      expect(await pauseSnapshots(db, [id])).toEqual([id])
      expect(await resumeSnapshots(db, [id])).toEqual([id])
    } finally {
      await db.destroy()
    }
    await haveBegun(2)
    expect([...fired(home).keys()]).toEqual(['claim.renewed'])
    await ends()
  })
})
