import { expect, it } from 'vitest'
import { useHomes } from '../support/homes.ts'
import { eventually } from '../support/program.ts'

const homes = useHomes()

interface Facts {
  readonly runner: { readonly state: string; readonly pid: number | null }
  readonly blocked_reason: string | null
}

const facts = (text: string) =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Facts)

it('status --watch shows who leads again and again, and leaves at Ctrl-C with what it saw last', async () => {
  const home = await homes.make()
  const watching = home.start(['status', '--watch', '--json'])
  await eventually(() => facts(watching.stdout).length > 0)
  expect(facts(watching.stdout)[0]?.runner.state).toBe('none')
  const runner = home.start(['run'])
  await eventually(() => facts(watching.stdout).some(({ runner: { state, pid } }) => state === 'running' && pid === runner.pid))
  watching.signal('SIGINT')
  expect((await watching.finished()).code).toBe(0)
  runner.signal('SIGTERM')
  await runner.finished()
})

it('status says of a leader that is silent that nothing moves for that', async () => {
  const home = await homes.make()
  const runner = home.start(['run'])
  await runner.says(/leading/)
  runner.signal('SIGSTOP')
  await home.add('http://127.0.0.1:9/')
  await home.query("update process set heartbeat_at = now() - interval '2 minutes' where worker_type = 'worker_runner'")
  const { code, stdout } = await home.run(['status', '--json'])
  expect(code).toBe(0)
  expect(facts(stdout)[0]?.blocked_reason).toMatch(new RegExp(`runner pid ${runner.pid} has not been heard of for 2 min`))
  const next = home.start(['run', '--exit-on-idle'])
  expect((await next.finished()).code).toBe(0)
  expect((await runner.finished()).code).toBe(0)
})
