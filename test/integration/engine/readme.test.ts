import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { useDatabases } from '../../support/engine.ts'
import { newFolder } from '../../support/homes.ts'
import { NODE, ROOT, Running } from '../../support/program.ts'

const manual = readFileSync(join(ROOT, 'docs', 'engine.md'), 'utf8')
const databases = useDatabases()

it('the example in the manual drives a table of its own', async () => {
  const database = await databases.make()
  const example = /```ts example\n([\s\S]*?)```/.exec(manual)?.[1] ?? ''
  const folder = newFolder()
  try {
    const file = join(folder, 'example.ts')
    const here = example
      .replace("'archivebox-ts/engine'", `'${pathToFileURL(join(ROOT, 'src', 'engine', 'index.ts')).href}'`)
      .replace("'pg'", `'${import.meta.resolve('pg')}'`)
    expect(here).not.toContain("'archivebox-ts/engine'")
    writeFileSync(file, here)
    const child = spawn(NODE, [file], { env: { PATH: process.env['PATH'], DATABASE_URL: database.url } })
    const { code, stdout, stderr } = await new Running(child, ['example']).finished()
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.split('\n').sort()).toEqual(expect.arrayContaining(['to Ada', 'to Grace']))
    expect(stdout).toContain("{ 'written -post-> posted': 2, 'posted -deliver-> delivered': 2 }")
    expect(await database.query('select distinct status, retry_at, claim_token from letter')).toEqual([
      { status: 'delivered', retry_at: null, claim_token: null },
    ])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

it('every test that the manual names is there', () => {
  const rows = manual
    .slice(manual.indexOf('## The names of the seeds'))
    .matchAll(/^\| (?!seed|---)(.*) \| (.*) \| ?(.*?) ?\|$/gm)
  const tests = new Set([...rows].flatMap(([, , , cell]) => cell!.split('; ')).filter((test) => test !== ''))
  expect(tests.size).toBeGreaterThan(50)
  expect([...tests].filter((test) => test !== 'types' && !isThere(test))).toEqual([])
})

/** `FILE: how its title begins` */
function isThere(test: string): boolean {
  const [, name, title] = /^([a-z-]+): (.+)$/.exec(test) ?? []
  const file = ['unit', 'integration']
    .map((kind) => join(ROOT, 'test', kind, 'engine', `${name}.test.ts`))
    .find((path) => existsSync(path))
  const titles = file
    ? [...readFileSync(file, 'utf8').matchAll(/(?:\bit\(|\)\()\s*(['"`])(.*?)\1,/g)].map(([, , text]) => text!)
    : []
  return titles.some((text) => text.startsWith(title!))
}
