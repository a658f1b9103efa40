// Prepares a checkout: installs from the lock file when that has changed, and builds when a source is newer than the
// build. Runs on any Node from 20 on; the program itself runs on the Node that the lock file pins.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
export const pinnedNode = join(root, 'node_modules', 'node', 'bin', 'node')
const stamp = join(root, 'node_modules', '.installed-lock')
const lock = join(root, 'package-lock.json')

// As soon as this is loaded, before an older npm tries to install.
if (Number.parseInt(process.versions.node, 10) < 20) {
  console.error(`a clone needs Node 20 or newer; this is ${process.versions.node} (${process.execPath})`)
  process.exit(2)
}

/** Installs and builds what is missing. Logs its steps on stderr; exits when a step fails. */
export function prepare() {
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== readFileSync(lock, 'utf8')) {
    console.error('Installing packages (once)')
    const quiet = ['--no-audit', '--no-fund', '--loglevel=error']
    step('npm', ['ci', ...quiet])
    if (!existsSync(pinnedNode)) fetchPinnedNode()
    // On an older Node, npm omits optional packages that require a newer one. The pinned Node is first in PATH now.
    step('npm', ['install', '--no-save', ...quiet])
    writeFileSync(stamp, readFileSync(lock))
  }
  const built = join(root, 'dist', 'main.js')
  if (
    !existsSync(built) ||
    newest(join(root, 'src'), join(root, 'scripts'), join(root, 'package.json')) > statSync(built).mtimeMs
  ) {
    console.error('Building')
    step(pinnedNode, [join(root, 'scripts', 'build.mjs')])
  }
}

/** With install scripts blocked, the package of the pinned Node has not fetched its binary, and nothing links to it. */
function fetchPinnedNode() {
  step(process.execPath, ['installArchSpecificPackage.js'], join(root, 'node_modules', 'node'))
  const link = join(root, 'node_modules', '.bin', 'node')
  rmSync(link, { force: true })
  symlinkSync(join('..', 'node', 'bin', 'node'), link)
}

/** Runs a program with the pinned Node first in PATH, and its stdout on our stderr: stdout is for data. */
function step(program, args, cwd = root) {
  const env = { ...process.env, PATH: `${join(root, 'node_modules', '.bin')}:${process.env.PATH}` }
  const { status, error } = spawnSync(program, args, { cwd, env, stdio: ['ignore', 2, 2] })
  if (status === 0) return
  console.error(
    `error: ${program} ${args.join(' ')} failed${error ? `: ${error.message}` : ` with exit code ${status}`}`,
  )
  process.exit(1)
}

function newest(...paths) {
  let latest = 0
  for (const path of paths) {
    const stats = statSync(path)
    latest = Math.max(latest, stats.mtimeMs)
    if (stats.isDirectory()) latest = Math.max(latest, newest(...readdirSync(path).map((name) => join(path, name))))
  }
  return latest
}
