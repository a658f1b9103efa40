// `npm run nightly [-- --minutes N]`: everything that takes too long for every run. Runs the whole suite without
// samples, every mutant, and random faults for N minutes (default 30), once more with a browser; builds and runs the
// image where buildah is; then hostile input, and three machines on a database that fails over, for a third of that;
// and the package, installed in every way. Prints its seed; `SEED=n` sets one. Only one part:
// `npm run nightly -- hostile [--minutes N] [--seed S]`, `npm run nightly -- nodes` with the same,
// `npm run nightly -- install [PART OF A NAME]`.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { pinnedNode, prepare, root } from './prepare.mjs'

const HOSTILE = join(root, 'test', 'hostile', 'main.ts')
const NODES = join(root, 'test', 'nodes', 'main.ts')
const INSTALL = join(root, 'test', 'install', 'main.ts')

const [only, ...rest] = process.argv.slice(2)
const part = { hostile: HOSTILE, nodes: NODES, install: INSTALL }[only]
if (part) {
  prepare()
  process.exit(spawnSync(pinnedNode, [part, ...rest], { cwd: root, stdio: 'inherit' }).status ?? 1)
}
const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } })
const seed = process.env.SEED ?? String(Math.floor(Math.random() * 1_000_000))
const env = { ...process.env, SEED: seed, NIGHTLY: '1' }
const failed = []
const soak = ['soak.mjs', '--minutes', values.minutes, '--seed', seed]
const steps = [
  ['test.mjs'],
  ['mutants.mjs'],
  soak,
  [...soak, '--captures', '--urls', '30', '--pace', '0.6'],
  ['image.mjs'],
]
for (const [script, ...args] of steps) {
  console.log(`\n== ${script} ${args.join(' ')} (SEED=${seed})`)
  const options = { cwd: root, env, stdio: 'inherit' }
  const { status } = spawnSync(process.execPath, [join(root, 'scripts', script), ...args], options)
  if (status !== 0) failed.push(script)
}
const minutes = String(Number(values.minutes) / 3)
for (const [name, main] of Object.entries({ hostile: HOSTILE, nodes: NODES })) {
  console.log(`\n== ${name} --minutes ${minutes} (SEED=${seed})`)
  const args = [main, '--minutes', minutes, '--seed', seed]
  if (spawnSync(pinnedNode, args, { cwd: root, stdio: 'inherit' }).status !== 0) failed.push(name)
}
console.log('\n== install')
if (spawnSync(pinnedNode, [INSTALL], { cwd: root, stdio: 'inherit' }).status !== 0) failed.push('install')
console.log(failed.length === 0 ? '\nthe night was quiet' : `\nSEED=${seed} failed: ${failed.join(', ')}`)
process.exitCode = failed.length === 0 ? 0 : 1
