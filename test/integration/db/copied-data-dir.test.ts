import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { newFolder } from '../../support/homes.ts'
import { endLeft, processesOf } from '../../support/processes.ts'
import { eventually, program } from '../../support/program.ts'
import { startSite } from '../../support/site.ts'

let folder: string
const cli = (dir: string, ...args: string[]) => program(args, { env: { DATA_DIR: join(folder, dir) } })
const servers = (dir: string) => processesOf(join(folder, dir)).filter(({ command }) => command.includes('postgres'))

beforeEach(() => {
  folder = newFolder()
})
afterEach(async () => {
  await cli('original', 'db', 'stop', '--force')
  const left = await endLeft(folder)
  rmSync(folder, { recursive: true, force: true })
  expect(left).toEqual([])
})

it('a data dir that is copied while its server runs gets a server of its own, and the original keeps its', async () => {
  await cli('original', 'init')
  await cli('original', 'db', 'start')
  await cli('original', 'add', '--plugins', 'html', 'http://127.0.0.1:9/')
  execFileSync('cp', ['-a', join(folder, 'original'), join(folder, 'copy')])

  const { code, stdout, stderr } = await cli('copy', 'status', '--json')
  expect(code, stderr).toBe(3)
  expect(stderr).toMatch(
    /copy is a copy of another data dir: it gets a new identity\n.*its database was in use while it was copied/,
  )
  expect(JSON.parse(stdout)).toMatchObject({ queue: { crawl: { queued: 1 } }, runner: { state: 'none' } })
  await eventually(() => servers('copy').length === 0)
  expect(servers('original').length).toBeGreaterThan(0)

  await cli('copy', 'crawl', 'delete', '--yes', JSON.parse((await cli('copy', 'crawl', 'list')).stdout).id)
  expect((await cli('copy', 'crawl', 'list')).stdout).toBe('')
  expect(JSON.parse((await cli('original', 'crawl', 'list')).stdout)).toMatchObject({ status: 'queued' })
})

it('a copy has the files of the pages that it was copied with, and says so of itself', async () => {
  const site = await startSite(1)
  try {
    await cli('original', 'init')
    const added = await cli('original', 'add', '--run', '--plugins', 'html', `${site.url}/page-1.html`)
    expect(added.code, added.stderr).toBe(0)
    execFileSync('cp', ['-a', join(folder, 'original'), join(folder, 'copy')])
    expect((await cli('copy', 'status')).stderr).toMatch(/it gets a new identity/)
    const [own, former] = ['copy', 'original'].map((dir) =>
      readFileSync(join(folder, dir, '.archivebox-id'), 'utf8').slice(0, 36),
    )
    expect(own).not.toBe(former)
    expect((await cli('copy', 'db', 'start')).code).toBe(0)
    const db = new pg.Client({ connectionString: (await cli('copy', 'db', 'url')).stdout.trim() })
    await db.connect()
    const { rows } = await db.query(`
      select (select array_agg(id) from node) as nodes, (select array_agg(home_node) from snapshot) as pages,
        (select array_agg(node_id) from archive_result) as results`)
    await db.end()
    expect(rows).toEqual([{ nodes: [own], pages: [own], results: [own] }])
    expect((await cli('copy', 'verify')).code).toBe(0)
    await cli('copy', 'db', 'stop', '--force')
  } finally {
    await site.close()
  }
})
