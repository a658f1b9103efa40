// `npm run reach`: lists unused files and exports. In the product, these are all that its entries (scripts/entries.mjs)
// do not reach: code that only tests use is not needed. In tests and scripts, these are all that none of them uses.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { root } from './prepare.mjs'

const reports = await Promise.all([unused('--production'), unused()])
const found = new Set(reports.flatMap(({ issues }) => issues.flatMap(named)))
for (const line of found) console.log(`nothing reaches ${line}`)
process.exitCode = found.size > 0 ? 1 : 0

/** Knip's JSON report. */
function unused(...mode) {
  const knip = join(root, 'node_modules', 'knip', 'bin', 'knip.js')
  const args = [knip, '--config', 'scripts/knip.config.mjs', '--reporter', 'json', '--no-exit-code', ...mode]
  return new Promise((resolve, reject) =>
    execFile(process.execPath, args, { cwd: root, maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      error ? reject(new Error(stderr || stdout || error.message)) : resolve(JSON.parse(stdout)),
    ),
  )
}

/** The lines for one file: `src/a.ts` for an unused file, `src/a.ts: name` for an unused export or dependency. */
function named({ file, ...kinds }) {
  return Object.entries(kinds).flatMap(([kind, issues]) =>
    Array.isArray(issues) ? issues.map(({ name }) => (kind === 'files' ? file : `${file}: ${name}`)) : [],
  )
}
