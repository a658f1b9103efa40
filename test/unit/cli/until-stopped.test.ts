import { afterEach, expect, it } from 'vitest'
import { untilStopped } from '../../../src/cli/commands/restore.ts'

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
