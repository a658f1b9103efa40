// Reads a collection's index for read-index.ts: one snapshot a line, as JSON.
import { writeFileSync } from 'node:fs'
import { messageOf } from '../../base/errors.ts'
import { fromIndex } from './from-index.ts'

const [STDOUT, STDERR] = [1, 2]

try {
  // Waits while nobody reads, and fails when nobody will.
  for (const snapshot of fromIndex(process.argv[2]!)) writeFileSync(STDOUT, `${JSON.stringify(snapshot)}\n`)
} catch (error) {
  writeFileSync(STDERR, `${messageOf(error)}\n`)
  process.exitCode = 1
}
