// No line is longer than 120 characters: code (biome breaks what it can, no strings), comments, SQL, markdown.
// Excepted: what a URL makes long, rows of tables in markdown, the name of a test, fixtures.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './prepare.mjs'

const MAX = 120
/** Where that holds. */
const CLEAN = ['README.md', 'docs', 'scripts', 'src', 'test']

const files = globSync('{README.md,{docs,src,test,scripts}/**/*.{ts,mjs,md,sql}}', {
  cwd: root,
  exclude: ['test/fixtures/**'],
})
const isClean = (file) => CLEAN.some((path) => file === path || file.startsWith(`${path}/`))
const isExcepted = (line) =>
  line.replaceAll(/\bhttps?:\/\/[^\s)'"`]+/g, '').length <= MAX ||
  /^\s*\|.*\|$/.test(line) ||
  /^\s*(it|test|describe)(\.\w+)?\('/.test(line)

for (const file of files.filter(isClean)) {
  for (const [index, line] of readFileSync(join(root, file), 'utf8').split('\n').entries()) {
    if (line.length <= MAX || isExcepted(line)) continue
    console.log(`${file}:${index + 1} is ${line.length} characters long`)
    process.exitCode = 1
  }
}
