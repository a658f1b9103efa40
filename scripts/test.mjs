// `npm test`: runs every check, fast ones first. With arguments: only vitest, on these files. The last line stands
// alone, with the counts of vitest's own report: `N passed, N failed, N skipped`.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pinnedNode, prepare, root } from './prepare.mjs'

prepare()
const bin = (name) => join(root, 'node_modules', '.bin', name)
const env = { ...process.env, PATH: `${join(root, 'node_modules', '.bin')}:${process.env.PATH}` }
const files = process.argv.slice(2)
const checks =
  files.length > 0
    ? []
    : [
        ['format and lint', [bin('biome'), 'check', '--error-on-warnings', '.']],
        ['line length', [pinnedNode, 'scripts/line-length.mjs']],
        ['types', [pinnedNode, bin('tsc'), '-p', '.']],
        ['types of the pages', [pinnedNode, bin('tsc'), '-p', join('src', 'pages', 'script')]],
        ['types of what runs in pages', [pinnedNode, bin('tsc'), '-p', join('src', 'browse', 'script')]],
        ['reach', [pinnedNode, 'scripts/reach.mjs']],
      ]
let broken = 0
for (const [name, [program, ...args]] of checks) {
  console.log(`\n== ${name}`)
  const { status } = spawnSync(program, args, { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) broken += 1
}

const folder = mkdtempSync(join(tmpdir(), 'archivebox-ts-report-'))
const report = join(folder, 'report.json')
const counts = { passed: 0, failed: 0, skipped: 0 }
console.log(`\n== ${files.length > 0 ? files.join(' ') : `unit, integration, crash (${sampled()})`}`)
const options = [
  'run',
  '--config',
  'test/vitest.config.ts',
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${report}`,
]
const { status } = spawnSync(pinnedNode, [bin('vitest'), ...options, ...files], {
  cwd: root,
  env,
  stdio: ['ignore', 'inherit', 'inherit'],
})
if (existsSync(report)) {
  const result = JSON.parse(readFileSync(report, 'utf8'))
  counts.passed = result.numPassedTests
  counts.failed = result.numFailedTests
  counts.skipped = result.numPendingTests + (result.numTodoTests ?? 0)
  // A file that does not load, or whose setup fails, fails the run without failing a test; so does an error outside of
  // all files.
  const unloaded = result.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.every((test) => test.status !== 'failed'),
  ).length
  counts.failed += unloaded > 0 ? unloaded : status !== 0 && result.numFailedTests === 0 ? 1 : 0
} else counts.failed = 1
rmSync(folder, { recursive: true, force: true })
counts.failed += broken
console.log(
  `\n${counts.passed} passed, ${counts.failed} failed${counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''}`,
)
process.exitCode = counts.failed === 0 ? 0 : 1

function sampled() {
  if (env.NIGHTLY !== undefined) return 'everything'
  return `a sample of what npm run nightly does: SEED=${env.SEED ?? 1}`
}
