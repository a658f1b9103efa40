import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, expect, it, vi } from 'vitest'
import { uuidv7 } from '../../../src/base/ids.ts'
import { CannotEnd, rowsOfSurvivors } from '../../../src/processes/cannot-end.ts'
import { killFamily, membersOf } from '../../../src/processes/family.ts'
import { identityOf } from '../../../src/processes/identity.ts'
import { MARKER } from '../../../src/processes/marks.ts'
import { noOtherUser } from '../../support/other-user.ts'

const children: ChildProcess[] = []
afterEach(() => Promise.all(children.splice(0).map(ended)))

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

async function family(script: string, options: { uid?: number } = {}) {
  const id = uuidv7()
  const env = { PATH: process.env['PATH'], [MARKER.process]: id }
  const child = spawn('bash', ['-c', script], { env, detached: true, stdio: 'ignore', cwd: '/', ...options })
  children.push(child)
  return { child, family: { roots: [(await identityOf(child.pid!))!], markers: [`${MARKER.process}=${id}`] } }
}

it.skipIf(noOtherUser)(
  `whoever belongs to another user is not waited for, and named with what to do ${noOtherUser || ''}`,
  async () => {
    const { child, family: theirs } = await family('sleep 1000 & wait', { uid: 1 })
    await vi.waitFor(async () => expect(await membersOf(theirs)).toHaveLength(2))
    process.seteuid!('nobody')
    try {
      const survivors = await killFamily(theirs, { deadlineMs: 3_600_000 })
      expect(survivors.map(({ pid }) => pid)).toContain(child.pid)
      expect(new CannotEnd(survivors).message).toContain(
        `pid ${child.pid} (bash): it belongs to user 1, and we cannot signal it; end it with: ` +
          `sudo kill -9 ${child.pid}`,
      )
    } finally {
      process.seteuid!(0)
    }
    expect(await killFamily(theirs)).toEqual([])
  },
)

it('a survivor whose own row is closed holds the row of its worker, and no other', async () => {
  const worker = uuidv7()
  const marks = { [MARKER.process]: uuidv7(), [MARKER.worker]: worker }
  const child = spawn('sleep', ['1000'], { env: { PATH: process.env['PATH'], ...marks }, detached: true })
  children.push(child)
  const markers = [`${MARKER.worker}=${worker}`]
  await vi.waitFor(async () => expect(await membersOf({ markers })).toHaveLength(1))
  const rows = [worker, uuidv7()].map((id) => ({ id, pid: null }))
  expect(rowsOfSurvivors(await membersOf({ markers }), rows)).toEqual([{ id: worker, pid: null }])
  const hook = { id: marks[MARKER.process]!, pid: child.pid! }
  expect(rowsOfSurvivors(await membersOf({ markers }), [...rows, hook])).toEqual([hook])
})
