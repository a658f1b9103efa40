import { globSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect, it } from 'vitest'

const room = join(import.meta.dirname, '..', '..', 'src', 'engine')

it('the engine is a library of its own: it imports nothing but itself, src/base and Node', () => {
  const files = globSync('**/*.ts', { cwd: room })
  expect(files.length).toBeGreaterThan(20)
  const foreign = files.flatMap((file) =>
    [...readFileSync(join(room, file), 'utf8').matchAll(/(?:from|import|require)\s*\(?\s*'([^']+)'/g)]
      .map(([, name]) => name!)
      .filter((name) => !/^(node:|\.\/[\w-]+\.ts$|\.\.\/base\/[\w-]+\.ts$)/.test(name))
      .map((name) => `${relative(room, file)}: ${name}`),
  )
  expect(foreign).toEqual([])
})
