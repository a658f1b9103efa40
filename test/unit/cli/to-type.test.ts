import { describe, expect, it } from 'vitest'
import { toType } from '../../../src/cli/to-type.ts'

describe('a command line to type', () => {
  const line = 'archivebox-ts snapshot list --outcome failed | archivebox-ts snapshot retry --failed -'

  it('is as it is without --data-dir', () => {
    expect(toType({ dataDirGiven: undefined }, line)).toBe(line)
  })

  it('names the data dir that was given for each of its commands, as a word of a shell', () => {
    const program = "archivebox-ts --data-dir 'my $& pages'"
    expect(toType({ dataDirGiven: 'my $& pages' }, line)).toBe(
      `${program} snapshot list --outcome failed | ${program} snapshot retry --failed -`,
    )
  })
})
