import { expect, test } from 'vitest'
import { Door } from '../../../src/cli/door.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

test('a signal that comes while the last step to the database keeps the program busy is heard', async () => {
  const others = () => {}
  process.on('SIGHUP', others) // It must not end the test.
  const before = SIGNALS.flatMap((name) => process.listeners(name))
  const door = new Door('/nowhere', 0, () => {})
  const opened = door.through(async () => {
    process.kill(process.pid, 'SIGHUP')
  })
  await expect(opened).rejects.toMatchObject({ exitCode: 130 })
  for (const name of SIGNALS)
    for (const listener of process.listeners(name)) if (!before.includes(listener)) process.off(name, listener)
  process.off('SIGHUP', others)
})
