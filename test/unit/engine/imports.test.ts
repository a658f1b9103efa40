import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, it } from 'vitest'

const src = join(import.meta.dirname, '..', '..', '..', 'src')
const imports = globSync('**/*.ts', { cwd: src }).flatMap((file) =>
  [...readFileSync(join(src, file), 'utf8').matchAll(/(?:from|import|require)\s*\(?\s*'([^']+)'/g)].map(([, name]) => ({
    file,
    name: name!.startsWith('.') ? relative(src, join(src, dirname(file), name!)) : name!,
  })),
)

it('the engine is a library of its own: it imports nothing but itself, src/base and Node', () => {
  const ours = imports.filter(({ file }) => file.startsWith('engine/'))
  expect(ours.length).toBeGreaterThan(100)
  expect(ours.filter(({ name }) => !/^(node:|engine\/|base\/)/.test(name))).toEqual([])
})

it('nothing but the library needs engine/runner', () => {
  const users = imports.filter(({ name }) => name.startsWith('engine/runner/')).map(({ file }) => file)
  expect([...new Set(users)].filter((file) => !file.startsWith('engine/runner/'))).toEqual(['engine/index.ts'])
})
