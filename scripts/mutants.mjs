// `npm run mutants`: turns one mechanism off after another, in a copy of the sources, and demands that its test fails. With arguments: only those
// whose name contains one of them.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pinnedNode, prepare, root } from './prepare.mjs'

prepare()
if (realpathSync(process.execPath) !== realpathSync(pinnedNode)) {
  process.exit(spawnSync(pinnedNode, process.argv.slice(1), { cwd: root, stdio: 'inherit' }).status ?? 1)
}

const { MUTANTS } = await import('../test/support/mutants.ts')
const wanted = process.argv.slice(2)
const survivors = []
for (const mutant of MUTANTS.filter(({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)))) {
  const copy = mkdtempSync(join(tmpdir(), 'archivebox-ts-mutant-'))
  try {
    for (const part of [
      'src',
      'test',
      'scripts',
      'package.json',
      'package-lock.json',
      'tsconfig.json',
      '.biome.json',
      'README.md',
      'LICENSE',
    ])
      cpSync(join(root, part), join(copy, part), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
    const file = join(copy, mutant.file)
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace(mutant.find, () => mutant.replacement),
    )
    const { stdout } = spawnSync(pinnedNode, ['scripts/test.mjs', mutant.test, '-t', mutant.only], { cwd: copy, encoding: 'utf8' })
    const [, passed, failed] = /(\d+) passed, (\d+) failed[^\n]*\s*$/.exec(stdout) ?? []
    // A mutant that does not even build proves nothing.
    const died = Number(failed) > 0 && stdout.includes('Tests ')
    console.log(`${died ? 'caught  ' : 'SURVIVED'} ${mutant.name} (${mutant.test}: ${passed ?? '?'} passed, ${failed ?? '?'} failed)`)
    if (!died) survivors.push(mutant.name)
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}
console.log(survivors.length === 0 ? 'every mutant is caught' : `${survivors.length} survived`)
process.exitCode = survivors.length === 0 ? 0 : 1
