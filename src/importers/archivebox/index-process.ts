// Reads a collection's index for read-index.ts: one snapshot per line, as JSON; only the id of one that is too large.
import { writeFileSync } from 'node:fs'
import { messageOf } from '../../base/errors.ts'
import { showSourceLines } from '../../base/start/source-lines.ts'
import { LONGEST_LINE } from '../lines.ts'
import { fromIndex } from './from-index.ts'
import type { SourceSnapshot } from './snapshot.ts'

const [STDOUT, STDERR] = [1, 2]
const ID_LENGTH = 100

showSourceLines()
try {
  // Waits while nobody reads, and fails when nobody will.
  for (const snapshot of fromIndex(process.argv[2]!)) writeFileSync(STDOUT, `${lineOf(snapshot)}\n`)
} catch (error) {
  writeFileSync(STDERR, `${messageOf(error)}\n`)
  process.exitCode = 1
}

function lineOf(snapshot: SourceSnapshot): string {
  const line = JSON.stringify(snapshot)
  return line.length < LONGEST_LINE ? line : JSON.stringify({ tooLarge: snapshot.id.slice(0, ID_LENGTH) })
}
