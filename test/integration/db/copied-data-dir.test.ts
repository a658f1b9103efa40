import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { newFolder } from '../../support/homes.ts'
import { endLeft, processesOf } from '../../support/processes.ts'
import { eventually, program } from '../../support/program.ts'

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
