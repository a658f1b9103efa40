import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { migrations } from '../../../src/db/migrate.ts'

/** From this version on programs know of each other's schemas. */
const FIRST = 46

it('a migration says whether programs that lack it may go on: additive or breaking', () => {
  const files = migrations().filter(({ version }) => version >= FIRST)
  expect(files.length).toBeGreaterThan(0)
  const kinds = files.map(({ file }) => /^-- kind: (.*)$/m.exec(readFileSync(file, 'utf8'))?.[1])
  expect(kinds.filter((kind) => kind !== 'additive' && kind !== 'breaking')).toEqual([])
})

it('an additive migration takes nothing away, and asks for nothing that older programs do not write', () => {
  const taken = migrations()
    .filter(({ version }) => version >= FIRST)
    .map(({ file }) => readFileSync(file, 'utf8'))
    .filter((text) => /^-- kind: additive$/m.test(text))
    .filter((text) => /\b(drop|rename|set not null|add constraint|alter column)\b/i.test(text.replace(/--.*$/gm, '')))
  expect(taken).toEqual([])
})
