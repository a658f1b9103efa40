// `npm start`: prepares the checkout, then runs the program. Without arguments it is `run`; with a URL or --demo it is
// `add --run`.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { pinnedNode, prepare, root } from './prepare.mjs'

prepare()
const given = process.argv.slice(2)
const isAdd = given.some((arg) => /^[a-z][a-z0-9+.-]*:\/\//i.test(arg) || arg === '--demo') && given[0] !== 'add'
const args = given.length === 0 ? ['run'] : isAdd ? ['add', '--run', ...given] : given
const program = join(root, 'dist', 'main.js')

if (Number(process.versions.node.split('.')[0]) >= 24) {
  process.argv = [process.execPath, program, ...args]
  await import(pathToFileURL(program).href)
} else {
  const child = spawn(pinnedNode, [program, ...args], { stdio: 'inherit' })
  // Signals to us are meant for the program.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1)
  })
}
