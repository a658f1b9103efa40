// `npm run reach`: what nothing uses, files and exports. Of the product that is what its entries do not reach (scripts/
// entries.mjs): what only tests use is not needed. Of tests and scripts it is what none of them uses.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { root } from './prepare.mjs'

const SERVER = 'for the verb `server`, which is to come: it shares the runner with `run` and `add --run`'
/** What may be there although nothing reaches it yet, and why. */
const EXCEPTIONS = {
  currentRow: SERVER,
  currentCommand: SERVER,
  commandIsNewest: SERVER,
  commandOwnsRuntimeStack: SERVER,
  standbyUntilLeaderNeeded: SERVER,
  standbyUntilRuntimeStackNeeded: SERVER,
}

const reports = await Promise.all([unused('--production'), unused()])
const found = new Set(reports.flatMap(({ issues }) => issues.flatMap(named)))
const left = [...found].filter((line) => !(nameIn(line) in EXCEPTIONS))
const needless = Object.keys(EXCEPTIONS).filter((name) => ![...found].some((line) => nameIn(line) === name))
for (const line of left) console.log(`nothing reaches ${line}`)
for (const name of needless) console.log(`${name} is reached, or gone: it is no exception any more`)
process.exitCode = left.length + needless.length > 0 ? 1 : 0

/** What knip finds, as its JSON report. */
function unused(...mode) {
  const knip = join(root, 'node_modules', 'knip', 'bin', 'knip.js')
  const args = [knip, '--config', 'scripts/knip.config.mjs', '--reporter', 'json', '--no-exit-code', ...mode]
  return new Promise((resolve, reject) =>
    execFile(process.execPath, args, { cwd: root, maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      error ? reject(new Error(stderr || stdout || error.message)) : resolve(JSON.parse(stdout)),
    ),
  )
}

/** The lines for one file: `src/a.ts` for a file, `src/a.ts: name` for what it exports, or depends on. */
function named({ file, ...kinds }) {
  return Object.entries(kinds).flatMap(([kind, issues]) =>
    Array.isArray(issues) ? issues.map(({ name }) => (kind === 'files' ? file : `${file}: ${name}`)) : [],
  )
}

function nameIn(line) {
  return line.split(': ')[1]
}
