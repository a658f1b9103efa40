import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ROOT } from '../../support/program.ts'

const app = join(ROOT, 'src', 'app')
const files = globSync('**/*.ts', { cwd: app })

/** What would tie what the program does to one way of asking for it, or one call to another. */
const FORBIDDEN: Readonly<Record<string, RegExp>> = {
  'the process of who asks': /\bprocess\s*\.\s*(argv|env|cwd|stdin|stdout|stderr|exit|exitCode|on)\b/,
  printing: /\bconsole\b/,
  'words of the command line': /'(\.\.\/)+cli\//,
  'state between calls': /^(export )?(let|var)\b|^(export )?const [^=]*= (new\b|Buffer\b|\[\]|\{\})/m,
}

it.each(files)('app/%s takes data and answers data', (file) => {
  const code = readFileSync(join(app, file), 'utf8').replace(/^\s*(\/\/|\*|\/\*).*$/gm, '')
  expect(Object.keys(FORBIDDEN).filter((what) => FORBIDDEN[what]!.test(code))).toEqual([])
})

it('such words are found', () => {
  const bad = ['process.exit()', 'console.log()', "from '../../cli/home.ts'", 'let n = 0', 'const all = new Map()']
  const found = bad.map((code) => Object.values(FORBIDDEN).some((pattern) => pattern.test(code)))
  expect(found).toEqual(bad.map(() => true))
})
