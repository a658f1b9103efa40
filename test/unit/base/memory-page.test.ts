import { expect, it } from 'vitest'
import { memoryPageBytes, pageBytesIn } from '../../../src/base/memory-page.ts'
import { readProc } from '../../../src/processes/proc.ts'

it('is what the kernel says, also where its pages are of 16 or 64 kB', () => {
  for (const bytes of [4_096, 16_384, 65_536])
    expect(pageBytesIn(new Uint8Array(new BigUint64Array([33n, 1n, 6n, BigInt(bytes), 0n, 0n]).buffer))).toBe(bytes)
  expect(pageBytesIn(new Uint8Array())).toBe(4_096)
})

it.skipIf(process.platform !== 'linux')('counts the memory of a process as that process does', () => {
  expect(memoryPageBytes()).toBeGreaterThanOrEqual(4_096)
  const ratio = readProc(process.pid)!.rssBytes / process.memoryUsage.rss()
  expect(ratio).toBeGreaterThan(0.8)
  expect(ratio).toBeLessThan(1.25)
})
