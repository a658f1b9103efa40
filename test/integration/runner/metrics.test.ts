// The metrics of a leader: from its promotion to its drain, and never in the way of its work.
import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { METRICS } from '../../../src/app/metrics/metrics.ts'
import { readExposition } from '../../support/exposition.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { eventually, type Running } from '../../support/program.ts'
import { askAt } from '../../support/served.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site
beforeAll(async () => {
  site = await startSite(2)
})
afterAll(() => site.close())

/** A port that nobody has, and somebody who may have it. */
async function holder() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const leave = async () => await new Promise((resolve) => server.close(resolve))
  return { port, leave }
}

const scraped = async (port: number) => await askAt(port, `127.0.0.1:${port}`, '/metrics').catch(() => undefined)
const answers = (port: number) => async () => (await scraped(port))?.status === 200
const portOf = ({ stderr }: Running) => Number(/metrics at http:\/\/127\.0\.0\.1:(\d+)\/metrics/.exec(stderr)?.[1])

/** The samples that a runner shows, by name; with labels also by `name label`. */
async function samplesAt(port: number): Promise<Map<string, number>> {
  return samplesIn((await scraped(port))?.text ?? '')
}

const samplesIn = (text: string) =>
  new Map(
    readExposition(text).map(({ name, labels, value }) => [[name, ...Object.values(labels)].join(' '), value] as const),
  )

const exposed = async (home: TestHome) => samplesIn((await home.run(['status', '--prometheus'])).stdout)

it('are those of `status`, and of the process that leads', async () => {
  const home = await homes.make()
  await home.add('--plugins', 'headers', `${site.url}/page-1.html`, `${site.url}/status-404`)
  const runner = home.start(['run', '--metrics', '127.0.0.1:0'])
  await eventually(() => runner.stderr.includes('metrics at http'))
  const port = portOf(runner)
  await eventually(async () => (await samplesAt(port)).get('archivebox_pages archived') === 1)
  await eventually(async () => (await samplesAt(port)).get('archivebox_pages failed') === 1)
  const samples = await samplesAt(port)
  expect(Object.fromEntries(samples)).toMatchObject({
    archivebox_up: 1,
    archivebox_runner_leads: 1,
    archivebox_leader_missing_seconds: 0,
    'archivebox_pages_ended_total archived': 1,
    'archivebox_pages_ended_total failed': 1,
    'archivebox_oldest_due_age_seconds crawl': 0,
    'archivebox_hooks_ended_total headers': 2,
    archivebox_backup_failed: 0,
  })
  const took = await home.value<number>(`
    select sum(hook_ms(start_ts, end_ts))::float8 / 1000 from archive_result
    where plugin = 'headers'`)
  expect(samples.get('archivebox_hook_seconds_total headers')).toBeCloseTo(took, 3)
  expect(took).toBeGreaterThan(0)
  for (const name of ['disk_free_bytes', 'disk_floor_bytes', 'database_size_bytes'])
    expect(samples.get(`archivebox_${name}`), name).toBeGreaterThan(1_000_000)
  expect(samples.get('process_resident_memory_bytes')).toBeGreaterThan(10_000_000)
  expect([...samples.keys()].filter((key) => !Object.hasOwn(METRICS, key.split(' ')[0]!))).toEqual([])
  // What results of elsewhere name is not a label.
  await home.query(`
    insert into archive_result (id, snapshot_id, plugin, hook_name, status, end_ts)
    select gen_random_uuid(), id, 'strange' || n, 'x', 'failed', now()
    from (select id from snapshot limit 1) s, generate_series(1, 500) n`)
  const later = await samplesAt(port)
  expect([...later.keys()].filter((key) => key.startsWith('archivebox_hooks_ended_total'))).toEqual([
    'archivebox_hooks_ended_total headers',
    'archivebox_hooks_ended_total other',
  ])
  expect(later.get('archivebox_hooks_ended_total other')).toBe(500)
  await home.query(`delete from archive_result where plugin like 'strange%'`)
  // By a name that was made to lead here, another path, another method.
  expect((await askAt(port, 'evil.test', '/metrics')).status).toBe(421)
  expect((await askAt(port, `127.0.0.1:${port}`, '/')).status).toBe(404)
  expect((await askAt(port, 'localhost', '/metrics', { method: 'POST' })).status).toBe(405)
  runner.signal('SIGTERM')
  expect((await runner.finished()).code).toBe(0)
})

it('are those of whoever leads: a newer runner has the same address at once', async () => {
  const home = await homes.make()
  const { port, leave } = await holder()
  await leave()
  const args = ['run', '--stay', '--metrics', `127.0.0.1:${port}`]
  const first = home.start(args)
  await eventually(answers(port))
  const before = await samplesAt(port)
  const second = home.start(args)
  await eventually(() => second.stderr.includes('metrics at http'))
  const after = await samplesAt(port)
  expect(after.get('archivebox_takeovers_total')).toBe((before.get('archivebox_takeovers_total') ?? 0) + 1)
  expect(after.get('archivebox_standbys')).toBe(1)
  // And back, when that one is gone.
  second.signal('SIGTERM')
  expect((await second.finished()).code).toBe(0)
  await eventually(async () => (await scraped(port))?.text.includes('archivebox_standbys 0') === true)
  first.signal('SIGTERM')
  expect((await first.finished()).code).toBe(0)
  expect(await scraped(port)).toBeUndefined()
})

it('go without the port while another program has it, which is said once; work goes on', async () => {
  const home = await homes.make()
  const { port, leave } = await holder()
  await home.add('--plugins', 'headers', `${site.url}/page-1.html`)
  const runner = home.start(['run', '--metrics', `127.0.0.1:${port}`])
  await eventually(async () => (await home.value("select count(*)::int from snapshot where status = 'sealed'")) === 1)
  await eventually(() => runner.stderr.includes(`another program has port ${port} of 127.0.0.1; trying again`))
  await leave()
  await eventually(answers(port))
  expect(runner.stderr.split('another program has port').length).toBe(2)
  runner.signal('SIGTERM')
  expect((await runner.finished()).code).toBe(0)
})

it.each(['0.0.0.0:9464', 'example.com:9464', '[::]:9464', 'here', '127.0.0.1:99999'])(
  '--metrics %s is refused',
  async (at) => {
    const home = await homes.make()
    const { code, stderr } = await home.run(['run', '--metrics', at])
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^error: --metrics .*\n/)])
    expect(await home.query("select from process where process_type = 'orchestrator'")).toEqual([])
  },
)

it('tell for how long nobody has led since the last heartbeat of one that was killed, row or not', async () => {
  const home = await homes.make()
  const runner = home.start(['run'])
  await eventually(async () => (await exposed(home)).get('archivebox_runner_leads') === 1)
  const before = await exposed(home)
  await home.kill(runner)
  // The machine lost power: nobody has closed the row.
  await home.query(`
    update process set status = 'running', ended_at = null, heartbeat_at = now() - interval '90 s'
    where worker_type = 'worker_runner'`)
  await home.query(`
    update lead set ended_at = null, is_lost = false, began_at = now() - interval '1 h'
    where term = (select max(term) from lead)`)
  const after = await exposed(home)
  expect(after.get('archivebox_runner_leads')).toBe(0)
  const missing = after.get('archivebox_leader_missing_seconds') ?? 0
  expect([missing >= 90, missing < 150]).toEqual([true, true])
  const next = home.start(['run', '--exit-on-idle'])
  expect((await next.finished()).code).toBe(0)
  const sum = 'archivebox_leaderless_seconds_total'
  expect((await exposed(home)).get(sum)).toBeGreaterThanOrEqual((before.get(sum) ?? 0) + 90)
})

it('say that the database does not answer, when it does not', async () => {
  const home = await homes.make()
  const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', WAIT_DB: '0' }
  const { code, stdout, stderr } = await home.run(['status', '--prometheus'], { env })
  expect([code, Object.fromEntries(samplesIn(stdout))]).toEqual([1, { archivebox_up: 0 }])
  expect(stderr).toMatch(/^error: /)
})
