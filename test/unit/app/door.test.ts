import { expect, test } from 'vitest'
import { Door } from '../../../src/app/open/door.ts'
import { interruptible } from '../../../src/cli/interrupts.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

test('a signal that comes while the last step to the database keeps the program busy is heard', async () => {
  const others = () => {}
  process.on('SIGHUP', others) // It must not end the test.
  const before = SIGNALS.flatMap((name) => process.listeners(name))
  const opened = interruptible(async (signal) => {
    await new Door('/nowhere', 0, { signal }).through(async () => {
      process.kill(process.pid, 'SIGHUP')
    })
  })
  await expect(opened).rejects.toMatchObject({ exitCode: 130 })
  for (const name of SIGNALS)
    for (const listener of process.listeners(name)) if (!before.includes(listener)) process.off(name, listener)
  process.off('SIGHUP', others)
})
