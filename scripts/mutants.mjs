// `npm run mutants`: turns off one mechanism after another, in a copy of the sources, and requires that its test fails.
// With arguments: only those whose name contains one of them. Runs as many at a time as half the cores, or `--jobs N`.
import { execFile, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { pinnedNode, prepare, root } from './prepare.mjs'

prepare()
if (realpathSync(process.execPath) !== realpathSync(pinnedNode)) {
  process.exit(spawnSync(pinnedNode, process.argv.slice(1), { cwd: root, stdio: 'inherit' }).status ?? 1)
}

const PARTS = [
  'src',
  'test',
  'scripts',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  '.biome.json',
  'README.md',
  'docs',
  'LICENSE',
]
process.env.NIGHTLY = '1' // Runs all cases of a test: a sample may lack the one that notices.
const { MUTANTS } = await import('../test/support/mutants.ts')
const { values, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { jobs: { type: 'string', default: String(Math.max(1, Math.floor(availableParallelism() / 2))) } },
})
const waiting = MUTANTS.filter(({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
const survivors = []
await Promise.all(
  Array.from({ length: Number(values.jobs) }, async () => {
    for (let mutant = waiting.shift(); mutant; mutant = waiting.shift()) await attempt(mutant)
  }),
)
console.log(survivors.length === 0 ? 'every mutant is caught' : `${survivors.length} survived: ${survivors.join('; ')}`)
process.exitCode = survivors.length === 0 ? 0 : 1

/** Runs the test of a mutant on a copy that contains it. */
async function attempt(mutant) {
  const copy = mkdtempSync(join(tmpdir(), 'archivebox-ts-mutant-'))
  try {
    for (const part of PARTS) cpSync(join(root, part), join(copy, part), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
    const file = join(copy, mutant.file)
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace(mutant.find, () => mutant.replacement),
    )
    const stdout = await saidBy(pinnedNode, ['scripts/test.mjs', mutant.test, '-t', mutant.only], copy)
    const [, passed, failed] = /(\d+) passed, (\d+) failed[^\n]*\s*$/.exec(stdout) ?? []
    // A mutant that does not even build proves nothing.
    const died = Number(failed) > 0 && stdout.includes('Tests ')
    const counts = `${passed ?? '?'} passed, ${failed ?? '?'} failed`
    console.log(`${died ? 'caught  ' : 'SURVIVED'} ${mutant.name} (${mutant.test}: ${counts})`)
    if (!died) survivors.push(mutant.name)
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

/** Everything that a program prints until it exits, however that happens. */
function saidBy(program, args, cwd) {
  return new Promise((resolve) =>
    execFile(program, args, { cwd, maxBuffer: 2 ** 28 }, (_error, stdout) => resolve(stdout)),
  )
}
