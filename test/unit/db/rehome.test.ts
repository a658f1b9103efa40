import { describe, expect, it } from 'vitest'
import { renamed, renamedIn } from '../../../src/db/backup/rehome.ts'

const from = '01994f6e-0c1a-7c3e-9d55-0123456789ab'
const to = '01994f6e-0c1a-7c3e-9d55-ba9876543210'
const rows = `1\t${from}\t2\n3\t\\N\t${from}\n4\t${from}5\t\\t${from}\n`
const expected = `1\t${to}\t2\n3\t\\N\t${to}\n4\t${from}5\t\\t${from}\n`

async function* pieces(size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < rows.length; at += size) yield Buffer.from(rows.slice(at, at + size))
}

describe('the node in restored rows', () => {
  it.each([1, 7, 36, 37, 38, 39, 1_000])(
    'is replaced where it is a whole field, in pieces of %i bytes',
    async (size) => {
      const all = await Array.fromAsync(renamed(pieces(size), { from, to }))
      expect(Buffer.concat(all).toString()).toBe(expected)
    },
  )

  it('is replaced in tables that name it, and only a real id', () => {
    expect(renamedIn('snapshot', { node: from }, to)).toEqual({ from, to })
    expect(renamedIn('process', { node: from }, to)).toBeUndefined()
    expect(renamedIn('snapshot', { node: from }, from)).toBeUndefined()
    expect(renamedIn('snapshot', { node: from }, undefined)).toBeUndefined()
    expect(renamedIn('snapshot', { node: 'x' }, to)).toBeUndefined()
    expect(renamedIn('snapshot', {}, to)).toBeUndefined()
  })
})
