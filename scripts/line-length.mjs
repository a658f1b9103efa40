// Checks that no line is longer than 120 characters: code (biome breaks some lines, but no strings), comments, SQL,
// markdown. Exceptions: lines that are long because of a URL, rows of tables in markdown, names of tests, fixtures.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './prepare.mjs'

const MAX = 120
/** The files to check. */
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
