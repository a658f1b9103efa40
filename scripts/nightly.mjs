// `npm run nightly [-- --minutes N]`: what takes too long for every run. The whole suite without samples, every mutant,
// and random faults for N minutes (30 when not given), once more with a browser. Prints its seed; `SEED=n` gives one.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from './prepare.mjs'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } })
const seed = process.env.SEED ?? String(Math.floor(Math.random() * 1_000_000))
const env = { ...process.env, SEED: seed, NIGHTLY: '1' }
const failed = []
const soak = ['soak.mjs', '--minutes', values.minutes, '--seed', seed]
const steps = [['test.mjs'], ['mutants.mjs'], soak, [...soak, '--captures', '--urls', '30', '--pace', '0.6']]
for (const [script, ...args] of steps) {
  console.log(`\n== ${script} ${args.join(' ')} (SEED=${seed})`)
  const options = { cwd: root, env, stdio: 'inherit' }
  const { status } = spawnSync(process.execPath, [join(root, 'scripts', script), ...args], options)
  if (status !== 0) failed.push(script)
}
console.log(failed.length === 0 ? '\nthe night was quiet' : `\nSEED=${seed} failed: ${failed.join(', ')}`)
process.exitCode = failed.length === 0 ? 0 : 1
