import { cpSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, pagesOf, resultsOf } from '../../support/archive.ts'
import { failpoints } from '../../support/failpoints.ts'
import type { TestHome } from '../../support/homes.ts'
import { sealedCrawl } from '../../support/observer.ts'
import { holdingPlugin } from '../../support/plugins.ts'
import { eventually, type Running } from '../../support/program.ts'
import { useSharedServer } from '../../support/shared-database.ts'
import { type Site, startSite } from '../../support/site.ts'

const server = useSharedServer()
let site: Site

beforeAll(async () => {
  site = await startSite(4)
})
afterAll(() => site.close())

const idOf = ({ dataDir }: TestHome) => readFileSync(join(dataDir, '.archivebox-id'), 'utf8').split(' ')[0]!
const nameOf = (home: TestHome) => home.value<string>('select name from node where id = $1', [idOf(home)])

async function leading(home: TestHome, env: Readonly<Record<string, string>> = {}): Promise<Running> {
  const runner = home.start(['run'], { env })
  await runner.says(/leading \(term \d+\)/)
  await eventually(() => home.value('select count(*) = 1 from node where id = $1', [idOf(home)]))
  return runner
}

async function stop(runner: Running): Promise<void> {
  runner.signal('SIGTERM')
  expect((await runner.finished()).code).toBe(0)
}

/** What a node looks like some time after it was killed. */
async function lose(home: TestHome, other: TestHome): Promise<void> {
  await other.query("update node set state = 'lost', heartbeat_at = now() - interval '1 hour' where id = $1", [
    idOf(home),
  ])
  await other.query("update process set heartbeat_at = now() - interval '1 hour' where data_dir_id = $1", [idOf(home)])
}

/** The pages of the site, archived by a runner that has ended. */
async function archived(home: TestHome, ...names: string[]): Promise<string> {
  const crawl = await home.add('--plugins', 'html,title,hashes', ...names.map((name) => `${site.url}/${name}`))
  expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
  return crawl
}

it('what stops this node is said, also while another works', async () => {
  const [one, two] = await server.twoNodes()
  const { letGo } = holdingPlugin(one, 'holds')
  cpSync(join(one.dataDir, 'plugins'), join(two.dataDir, 'plugins'), { recursive: true })
  const first = await leading(one, { MAX_SNAPSHOT_WORKERS: '1' })
  const crawl = await one.add('--plugins', 'holds', `${site.url}/page-1.html`, `${site.url}/page-2.html`)
  await eventually(() => one.value("select count(*) = 1 from archive_result where status = 'started'"))
  const second = await leading(two, { DISK_FLOOR: '900000000' })
  const reasonAt = async (home: TestHome) =>
    (JSON.parse((await home.run(['status'])).stdout) as { blocked_reason: string | null }).blocked_reason
  await eventually(async () => (await reasonAt(two))?.includes('(DISK_FLOOR) no page is started'))
  expect(await reasonAt(one)).toBe(null)
  letGo()
  await sealedCrawl(one, crawl)
  for (const runner of [first, second]) await stop(runner)
})

describe('node drain', () => {
  it('finishes the page in work and begins no other, which another node does', async () => {
    const [one, two] = await server.twoNodes()
    const { letGo } = holdingPlugin(one, 'holds')
    cpSync(join(one.dataDir, 'plugins'), join(two.dataDir, 'plugins'), { recursive: true })
    const first = await leading(one, { MAX_SNAPSHOT_WORKERS: '1' })
    const pages = ['page-1.html', 'page-2.html', 'page-3.html'].map((name) => `${site.url}/${name}`)
    const crawl = await one.add('--plugins', 'html,holds', ...pages)
    await eventually(() => one.value("select count(*) = 1 from archive_result where status = 'started'"))
    const { code, stderr } = await two.run(['node', 'drain', await nameOf(one)])
    expect([code, stderr]).toEqual([0, expect.stringContaining('begins nothing new, and finishes 1 page')])
    // Without a runner here, what the other does is neither interrupted nor at a standstill.
    expect(JSON.parse((await two.run(['status'])).stdout)).toMatchObject({
      pages: { working: 1, interrupted: 0 },
      blocked_reason: null,
    })
    await first.says(/this node drains: no page or crawl is begun/)
    letGo()
    await eventually(() => one.value("select count(*) = 1 from snapshot where status = 'sealed'"))
    await eventually(() => one.value('select count(*) = 0 from crawl where claimed_by is not null'))
    expect(await one.value("select count(*) = 2 from snapshot where status = 'queued'")).toBe(true)
    await eventually(() => one.value("select count(*) = 1 from process where blocked_reason like 'this node drains:%'"))
    expect((await one.run(['status'])).stdout).toContain('this node drains')
    const second = await leading(two)
    await sealedCrawl(two, crawl)
    expect((await pagesOf(two, crawl)).map(({ home_node }) => home_node).toSorted()).toEqual(
      [idOf(one), idOf(two), idOf(two)].toSorted(),
    )
    await stop(second)
    // A drained node stays one when its runner starts again, and works when that is undone.
    await stop(first)
    const again = await leading(one)
    const more = await one.add('--plugins', 'html', `${site.url}/page-4.html`)
    await again.says(/this node drains/)
    expect(await one.value('select status from crawl where id = $1', [more])).toBe('queued')
    expect((await one.run(['node', 'drain', '--undo'])).stderr).toContain('works again')
    await sealedCrawl(one, more)
    await stop(again)
  })

  it('has a runner that exits when idle do so', async () => {
    const [one] = await server.twoNodes()
    await archived(one, 'page-1.html')
    expect((await one.run(['node', 'drain'])).stderr).toContain('has no runner, and begins nothing when one starts')
    await one.add('--plugins', 'html', `${site.url}/page-2.html`)
    expect((await one.run(['run', '--exit-on-idle'])).code).toBe(0)
    expect(await one.value("select count(*) = 1 from snapshot where status = 'sealed'")).toBe(true)
  })
})

describe('nodes', () => {
  it('are listed and shown with what they have and do, and how they differ', async () => {
    const [one, two] = await server.twoNodes()
    const first = await leading(one)
    await sealedCrawl(one, await one.add('--plugins', 'html', `${site.url}/page-1.html`))
    const second = await leading(two, { TIMEOUT: '77' })
    const list = (await two.run(['node', 'list', '--json'])).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(list.map(({ id, state, leads, here, pages }) => [id, state, leads, here, pages])).toEqual(
      [
        [idOf(one), 'active', true, false, 1],
        [idOf(two), 'active', true, true, 0],
      ].toSorted((a, b) => Number(a[0] === list[1].id) - Number(b[0] === list[1].id)),
    )
    const shown = await one.run(['node', 'show', await nameOf(two)])
    expect(JSON.parse(shown.stdout).differences).toEqual([
      { what: 'setting', name: 'TIMEOUT', here: null, there: '77' },
    ])
    const status = JSON.parse((await one.run(['status', '--json'])).stdout)
    expect(status.nodes.map(({ name }: { name: string }) => name)).toEqual(list.map(({ name }) => name))
    const processes = await one.run(['process', 'list', '--all-nodes', '--type', 'orchestrator', '--json'])
    expect(
      processes.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).node_id)
        .toSorted(),
    ).toEqual([idOf(one), idOf(two)].toSorted())
    const doctor = async () =>
      (await one.run(['doctor', '--json'])).stdout.split('\n').find((line) => /"nodes"/.test(line))
    expect(await doctor()).toContain('differs: setting TIMEOUT')
    await stop(second)
    await lose(two, one)
    expect(await doctor()).toContain('is lost')
    expect((await one.run(['status'])).stdout).toContain('"state":"lost"')
    await stop(first)
  })

  it.each<[string, string[], RegExp]>([
    ['an unknown one', ['node', 'show', 'nowhere'], /there is no node nowhere/],
    ['forgetting ourselves', ['node', 'forget', 'HERE'], /is the node of this data dir/],
    ['adopting ourselves', ['node', 'adopt', 'HERE'], /is the node of this data dir/],
    ['ended processes of all', ['process', 'list', '--all', '--all-nodes'], /--all-nodes shows what runs/],
  ])('refuse %s', async (_what, args, message) => {
    const [one] = await server.twoNodes()
    await archived(one, 'page-1.html')
    const here = await nameOf(one)
    const { code, stderr } = await one.run(args.map((arg) => (arg === 'HERE' ? here : arg)))
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)])
  })
})

describe('node forget', () => {
  it('fails the pages of a lost node, which are archived again elsewhere, and the node is told when it comes back', async () => {
    const [one, two] = await server.twoNodes()
    const crawl = await archived(one, 'page-1.html', 'page-2.html')
    const name = await nameOf(one)
    const active = await two.run(['node', 'forget', '--yes', name])
    expect([active.code, active.stderr]).toEqual([1, expect.stringMatching(/is active: it was heard of/)])
    await lose(one, two)
    await two.query("insert into file_job (node_id, what, ids) values ($1, 'page', array[$1]::uuid[])", [idOf(one)])
    const asked = await two.run(['node', 'forget', name])
    expect([asked.code, asked.stderr]).toEqual([2, expect.stringMatching(/2 pages \(.+\) have their files only there/)])
    expect(asked.stderr).toContain('nothing was changed')
    expect((await pagesOf(two, crawl)).map(({ home_node }) => home_node)).toEqual([idOf(one), idOf(one)])
    expect((await two.run(['node', 'forget', '--yes', name])).code).toBe(0)
    expect(await two.query('select * from node')).toEqual([])
    expect(await two.query('select * from file_job')).toEqual([])
    for (const { node_id, output_files } of await resultsOf(two, crawl))
      expect([node_id, output_files]).toEqual([null, {}])
    const failed = await two.run(['snapshot', 'list', '--outcome', 'failed', '-o', 'ids'])
    expect((await two.run(['snapshot', 'retry', '--failed', ...failed.stdout.trim().split('\n')])).code).toBe(0)
    expect((await two.run(['run', '--exit-on-idle'])).code).toBe(0)
    const pages = await pagesOf(two, crawl)
    expect(pages.map(({ outcome, home_node }) => [outcome, home_node])).toEqual([
      ['archived', idOf(two)],
      ['archived', idOf(two)],
    ])
    for (const { output_dir } of pages) expect(existsSync(join(two.dataDir, output_dir, 'html'))).toBe(true)
    const back = await one.run(['run', '--exit-on-idle'])
    expect(back.stderr).toContain(`this data dir was node ${name}, and was forgotten`)
    expect((await one.run(['run', '--exit-on-idle'])).stderr).not.toContain('was forgotten')
  })
})

describe('node adopt', () => {
  it('takes over what is whole in a copy, goes on after kill -9, and leaves the rest', async () => {
    const [one, two] = await server.twoNodes()
    const crawl = await archived(one, 'page-1.html', 'page-2.html', 'page-3.html')
    const name = await nameOf(one)
    const active = await two.run(['node', 'adopt', name])
    expect([active.code, active.stderr]).toEqual([1, expect.stringMatching(/is active: it was heard of/)])
    expect((await one.run(['node', 'drain'])).code).toBe(0)
    cpSync(join(one.dataDir, 'archive'), join(two.dataDir, 'archive'), { recursive: true })
    const [page] = await pagesOf(one, crawl)
    const results = await resultsOf(one, crawl)
    const { output_files } = results.find(({ snapshot_id, plugin }) => snapshot_id === page!.id && plugin === 'html')!
    const file = join(two.dataDir, page!.output_dir, 'html', Object.keys(output_files)[0]!)
    const was = readFileSync(file)
    writeFileSync(file, Buffer.alloc(was.length, 'x')) // Of the same size: only its hash tells.
    await two.query("insert into file_job (node_id, what, ids) values ($1, 'page', array[$1]::uuid[])", [idOf(one)])
    const killed = await two.run(['node', 'adopt', name], { env: failpoints(two, 'adopt.batch_taken=kill9') })
    expect(killed.signal).toBe('SIGKILL')
    const partly = await two.run(['node', 'adopt', name])
    expect([partly.code, partly.stdout]).toEqual([1, expect.stringMatching(/"changed".*SHA-256/)])
    expect((await pagesOf(two, crawl)).map(({ home_node }) => home_node)).toEqual([idOf(one), idOf(two), idOf(two)])
    writeFileSync(file, was)
    const rest = await two.run(['node', 'adopt', name])
    expect([rest.code, rest.stderr]).toEqual([0, expect.stringContaining('it is no node any more')])
    for (const { node_id, output_files: files } of await resultsOf(two, crawl))
      expect(node_id).toBe(Object.keys(files).length > 0 ? idOf(two) : null)
    expect(await two.value('select home_node from crawl where id = $1', [crawl])).toBe(idOf(two))
    expect(await two.query('select node_id from file_job')).toEqual([{ node_id: idOf(two) }])
    await expectComplete(two, crawl)
  })
})

describe('a data dir', () => {
  it('that is a clone of one in use is refused, until it has an id of its own', async () => {
    const [one, clone] = await server.twoNodes()
    await archived(one, 'page-1.html')
    const leader = await one.value<string>("select id from process where worker_type = 'worker_runner'")
    const path = join(clone.dataDir, '.archivebox-id')
    writeFileSync(path, `${idOf(one)} ${statSync(path).ino}\n`)
    // A leader on another machine, which goes on writing heartbeats.
    await one.query(
      `with other as (insert into machine (id, guid, hostname, os_platform, os_arch)
         values (gen_random_uuid(), 'other', 'faraway', 'linux', 'x64') returning id)
       update process set machine_id = other.id, boot_id = 'other', status = 'running', ended_at = null,
         exit_code = null, heartbeat_at = now()
       from other where process.id = $1`,
      [leader],
    )
    const beats = setInterval(
      () => void one.query('update process set heartbeat_at = now() where id = $1', [leader]).catch(() => {}),
      100,
    )
    try {
      const { code, stderr } = await clone.run(['run', '--exit-on-idle'])
      expect([code, stderr]).toEqual([2, expect.stringMatching(/is a clone: .* leads on faraway/)])
      expect(stderr).toContain(`rm ${path}`)
      rmSync(path)
      expect((await clone.run(['run', '--exit-on-idle'])).code).toBe(0)
    } finally {
      clearInterval(beats)
      await one.query("update process set status = 'lost', ended_at = now() where id = $1", [leader])
    }
  })

  it('never leads with a term that it has led with, whatever the database says', async () => {
    const [one] = await server.twoNodes()
    for (let term = 1; term <= 3; term += 1) expect((await one.run(['run', '--exit-on-idle'])).code).toBe(0)
    await one.query('update runner_term set term = 1')
    const { stderr } = await one.run(['run', '--exit-on-idle'])
    expect(stderr).toMatch(/leading \(term 4\)/)
    expect(stderr).toContain('2 terms that were led here are unknown to it')
    writeFileSync(join(one.dataDir, '.archivebox-term'), 'nonsense')
    const refused = await one.run(['run', '--exit-on-idle'])
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('does not name a term')])
  })
})
