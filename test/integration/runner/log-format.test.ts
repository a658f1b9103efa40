// The log for programs: one event a line, by names that stay. The file for people stays as it is.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LOG_EVENTS, type LogEvent } from '../../../src/base/log-events.ts'
import { useHomes } from '../../support/homes.ts'
import { eventually, type Running } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'

type Line = Readonly<Record<string, unknown>> & { readonly event: LogEvent }

const homes = useHomes()
let site: Site
beforeAll(async () => {
  site = await startSite(1)
})
afterAll(() => site.close())

/** The lines of a log, each of which has what all have, and what its event has. */
function linesOf(stderr: string): Line[] {
  return stderr
    .trimEnd()
    .split('\n')
    .map((text) => {
      const line = JSON.parse(text) as Line
      expect(new Date(line['time'] as string).toISOString()).toBe(line['time'])
      expect(['debug', 'info', 'warn', 'error']).toContain(line['level'])
      expect(typeof line['message'], text).toBe('string')
      expect(Object.keys(line), text).toEqual(expect.arrayContaining(['role', ...LOG_EVENTS[line.event].fields]))
      return line
    })
}

const of = (lines: readonly Line[], event: LogEvent) => lines.filter((line) => line.event === event)

it.each([
  ['--log-format json', ['--log-format', 'json'], {}],
  ['LOG_FORMAT=json', [], { LOG_FORMAT: 'json' }],
])('%s tells what a runner does, from its lead to its end', async (_name, args, env) => {
  const home = await homes.make()
  const crawl = await home.add('--plugins', 'headers', `${site.url}/page-1.html?token=hush`, `${site.url}/status-404`)
  const { code, stderr } = await home.run(['run', '--exit-on-idle', ...args], { env })
  expect(code, stderr).toBe(0)
  const lines = linesOf(stderr)
  expect(of(lines, 'leader.began')).toMatchObject([{ role: 'runner', term: 1, claims_taken_over: 0 }])
  const ended = of(lines, 'page.ended')
  expect(ended.map(({ outcome, cause, crawl_id }) => ({ outcome, cause, crawl_id }))).toEqual(
    expect.arrayContaining([
      { outcome: 'archived', cause: null, crawl_id: crawl },
      { outcome: 'failed', cause: 'HTTP 404', crawl_id: crawl },
    ]),
  )
  expect(stderr).not.toContain('hush')
  expect(of(lines, 'crawl.sealed')).toMatchObject([{ crawl_id: crawl }])
  expect(of(lines, 'runner.ended')).toMatchObject([{ why: 'idle', cause: null }])
  // What is read back is as it was.
  const log = readFileSync(join(home.dataDir, 'logs', 'runner.log'), 'utf8')
  expect(log).toMatch(/^\S+Z info runner [0-9a-f]{8}: leading \(term 1\)$/m)
  expect(log).not.toContain('"event"')
})

it('names a takeover on both sides, and the cause of an end', async () => {
  const home = await homes.make()
  const start = (): Running => home.start(['run', '--log-format', 'json', '--metrics', '127.0.0.1:0'])
  const first = await leading(start())
  const second = await leading(start())
  expect((await first.finished()).code).toBe(0)
  const older = linesOf(first.stderr)
  expect(of(older, 'leader.hands_over').length).toBe(1)
  expect(of(older, 'runner.ended')).toMatchObject([{ why: 'superseded' }])
  expect(of(linesOf(second.stderr), 'runner.takes_over')).toMatchObject([{ from_pid: first.pid }])
  second.signal('SIGTERM')
  expect((await second.finished()).code).toBe(0)
  const newer = linesOf(second.stderr)
  expect(of(newer, 'runner.drains')).toMatchObject([{ cause: 'SIGTERM' }])
  expect(of(newer, 'runner.ended')).toMatchObject([{ why: 'drained', cause: 'SIGTERM' }])
})

/** Waits until it leads, and has its metrics: nothing more happens then. */
async function leading(runner: Running): Promise<Running> {
  await eventually(() => runner.stderr.includes('"metrics.listen"'))
  return runner
}

it('is refused in another format, with the ones that there are', async () => {
  const home = await homes.make()
  const { code, stderr } = await home.run(['run', '--log-format', 'xml'])
  expect([code, stderr]).toEqual([2, expect.stringMatching(/--log-format.*text, json/)])
  const wrong = await home.run(['run', '--exit-on-idle'], { env: { LOG_FORMAT: 'xml' } })
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('LOG_FORMAT=xml: it takes one of text, json')])
})
