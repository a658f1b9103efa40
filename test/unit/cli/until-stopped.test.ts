import { afterEach, expect, it } from 'vitest'
import { untilStopped } from '../../../src/cli/commands/restore.ts'
import { preparing } from '../../../src/cli/interrupts.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const before = new Map(SIGNALS.map((signal) => [signal, process.listeners(signal)]))

/** An interrupted command keeps its listeners to its end. */
afterEach(() => {
  for (const signal of SIGNALS)
    for (const listener of process.listeners(signal))
      if (!before.get(signal)!.includes(listener)) process.off(signal, listener)
})

/** Work that a signal comes into. */
const interrupted = async (...isUndone: [] | [() => boolean]) =>
  await untilStopped(
    async (signal) => {
      process.kill(process.pid, 'SIGHUP')
      await new Promise((_resolve, reject) => signal.addEventListener('abort', reject))
    },
    ...isUndone,
  )

it('an interrupted command says that nothing was changed only when that is so', async () => {
  await expect(interrupted()).rejects.toMatchObject({ message: 'interrupted: nothing was changed', exitCode: 130 })
  await expect(interrupted(() => false)).rejects.toMatchObject({ message: 'interrupted', exitCode: 130 })
})

it('a signal that comes too late to stop the preparation of a command ends it all the same, and what was made is undone', async () => {
  const undone: string[] = []
  const prepared = preparing(
    async (signal) => {
      process.kill(process.pid, 'SIGHUP')
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return 'an open database'
    },
    async (made) => undone.push(made),
  )
  await expect(prepared).rejects.toMatchObject({ message: 'interrupted before it began', exitCode: 130 })
  expect(undone).toEqual(['an open database'])
})
