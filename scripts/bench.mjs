// `npm run bench [-- NAME...] [--rounds N]`: how fast it is, as ratios to rivals measured in the same run. A report,
// not a test: being slow is not a failure.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { pinnedNode, prepare, root } from './prepare.mjs'

prepare()
const child = spawn(pinnedNode, [join(root, 'test', 'bench', 'main.ts'), ...process.argv.slice(2)], {
  stdio: 'inherit',
})
// Ends its child processes before it exits.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', (code) => {
  process.exitCode = code ?? 1
})
