import { expect, it } from 'vitest'
import { useHomes } from '../../support/homes.ts'
import { eventually } from '../../support/program.ts'

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
  await eventually(() =>
    facts(watching.stdout).some(({ runner: { state, pid } }) => state === 'running' && pid === runner.pid),
  )
  watching.signal('SIGINT')
  expect((await watching.finished()).code).toBe(0)
  runner.signal('SIGTERM')
  await runner.finished()
})
