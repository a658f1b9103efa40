import { expect, it } from 'vitest'
import { marked, unmarked } from '../../../src/base/formula-mark.ts'

const FORMULAS = [
  "=cmd|' /C calc'!A0",
  '+1+1',
  '-2+3',
  '@SUM(1)',
  ' =1',
  '\t=1',
  '\rx',
  '\tx',
  '\n=1',
  '\ufeff=1',
  '＝1',
  '＋1',
  '－1',
  '＠x',
  "'=1",
  "''@x",
  "'-5",
  '\u22121',
  '\ufe661',
  '\u2060=1',
  '\u00ad@x',
]
const INSIDE = [
  ['x;=1', "x;'=1"],
  ['x; =1', "x;' =1"],
  ["x;'=1\n+2", "x;''=1\n'+2"],
  ['a\t@b', "a\t'@b"],
] as const
const PLAIN = ['', 'a title', '-5', '3.2e-4', '+49', '.5', "'tis", "'", 'a=b', 'https://example.com/?a=-1']

it.each(FORMULAS)('marks %j, and gives it back', (text) => {
  expect(marked(text).slice(0, 1)).toBe("'")
  expect(
    marked(text)
      .slice(1)
      .replace(/(?<=[\t\n])'/, ''),
  ).toBe(text)
  expect(unmarked(marked(text))).toBe(text)
})

it.each(PLAIN)('leaves %j as it is, both ways', (text) => {
  expect(marked(text)).toBe(text)
  expect(unmarked(text)).toBe(text)
})

it.each(INSIDE)('marks %j also where a spreadsheet that separates by something else would cut it', (text, safe) => {
  expect(marked(text)).toBe(safe)
  expect(unmarked(safe)).toBe(text)
})

it('gives back whatever it got', () => {
  const parts = ["'", '=', '-', '5', ' ', ';', '\n', '\t', 'x', '\ufeff', '.']
  let seed = 7
  const next = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % below
  }
  for (let round = 0; round < 20_000; round += 1) {
    const text = Array.from({ length: next(9) }, () => parts[next(parts.length)]).join('')
    expect(unmarked(marked(text)), JSON.stringify(text)).toBe(text)
  }
})

it('ends at once with a text of blanks and separators', () => {
  const long = '\n;'.repeat(500_000)
  expect(unmarked(marked(long))).toBe(long)
})
