// `npm run nightly -- install`: the package is installed in every way that people have, and archives a page each time.
import { chmodSync, existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { unpackBrowser } from '../../src/browse/browser/packaged.ts'
import { enterServer, urlOf } from '../../src/db/embedded/server.ts'
import { OTHER_USER } from '../support/other-user.ts'
import { as, type Came, install, ownBytes, type Person, pack, person } from '../support/packed.ts'
import { killAll, processesOf } from '../support/processes.ts'
import { NODE, ROOT } from '../support/program.ts'
import { type Site, startSite } from '../support/site.ts'

const MOST_BYTES = 40_000_000
const isRoot = process.getuid?.() === 0
const base = mkdtempSync(join(tmpdir(), 'abx-install-'))
chmodSync(base, 0o755)

/** Throws, with what a command has said, when something does not hold. */
function hold(holds: boolean, what: string, { code, stdout, stderr }: Partial<Came> = {}): void {
  if (!holds) throw new Error(`${what}${code === undefined ? '' : `: exit code ${code}\n${stdout}${stderr}`}`)
}

/** The folder of a Node of that version, which comes as a package. */
async function nodeOf(version: string): Promise<string> {
  const folder = join(base, `node-${version}`)
  const name = `node-${process.platform}-${process.arch}`
  await install({ node: dirname(NODE) }, folder, `${name}@${version}`)
  return join(folder, 'node_modules', name, 'bin')
}

/** Archives one page with its document, which takes a browser. @param under the words before the command */
async function archive(who: Person, folder: string, site: Site, env: NodeJS.ProcessEnv = {}, under: string[] = []) {
  const dataDir = join(who.home ?? folder, 'data')
  const args = ['npx', '--prefix', folder, 'archivebox-ts', 'add', '--run', '--plugins', 'title,html,dom']
  const came = await as(who, folder, [...under, ...args, `${site.url}/`], { DATA_DIR: dataDir, ...env })
  hold(came.code === 0, 'add --run', came)
  for (const file of ['title/title.txt', 'html/output.html', 'dom/output.html'])
    hold(globSync(`archive/snapshots/**/${file}`, { cwd: dataDir }).length === 1, `${file} is missing`, came)
  hold(existsSync(join(dataDir, 'index.html')), 'index.html is missing')
  return dataDir
}

/** The ways to install, by name; what it does with the tarball throws when something is wrong. */
function waysOf(tarball: string, site: Site): Readonly<Record<string, (folder: string) => Promise<void>>> {
  const us: Person = { node: dirname(NODE) }
  return {
    'with the pinned Node; removed again, the data dir stays': async (folder) => {
      await install(us, folder, tarball)
      const bytes = ownBytes(folder)
      hold(bytes < MOST_BYTES, `it takes ${bytes} bytes beside PostgreSQL and the browser`)
      const dataDir = await archive(us, folder, site)
      const came = await as(us, folder, ['npm', 'uninstall', 'archivebox-ts'])
      hold(came.code === 0 && !existsSync(join(folder, 'node_modules', 'archivebox-ts')), 'npm uninstall', came)
      hold(existsSync(join(dataDir, 'index.html')), 'the data dir is gone')
    },
    'with Node 22.18, without scripts of packages': async (folder) => {
      const old = { node: await nodeOf('22.18.0') }
      await install(old, folder, tarball, '--ignore-scripts')
      await archive(old, folder, site)
    },
    'with the newest Node': async (folder) => {
      const newest = { node: await nodeOf('latest') }
      await install(newest, folder, tarball)
      await archive(newest, folder, site)
    },
    'with Node 20, which is refused with one line': async (folder) => {
      const older = { node: await nodeOf('20') }
      await install(older, folder, tarball, '--omit=optional')
      const came = await as(older, folder, ['npx', 'archivebox-ts', 'status'])
      hold(came.code === 2 && /^archivebox-ts needs Node 22\.18 .*\n$/.test(came.stderr), 'status', came)
    },
    'in a clone with Node 18, which is refused with one line': async () => {
      const old = { node: await nodeOf('18') }
      const came = await as(old, ROOT, ['node', 'scripts/start.mjs'])
      hold(came.code === 2 && /^a clone needs Node 20 .*\n$/.test(came.stderr), 'start', came)
    },
    'from the cache, without a network': async (folder) => {
      const cache = ['--cache', join(base, 'cache')]
      await install(us, `${folder} before`, tarball, ...cache)
      await install(us, folder, tarball, ...cache, '--offline')
      await archive(us, folder, site)
    },
    'without optional packages, with a database and a browser of its own': async (folder) => {
      await install(us, folder, tarball, '--omit=optional')
      const env = { DATA_DIR: join(folder, 'data') }
      const lost = await as(us, folder, ['npx', 'archivebox-ts', 'add', '--run', `${site.url}/`], env)
      const isSaid = /DATABASE_URL/.test(lost.stderr) && /CHROME_BINARY/.test(lost.stderr)
      hold(lost.code === 1 && isSaid, 'add --run without settings', lost)
      const { program, env: needs } = (await unpackBrowser(join(base, 'browser')))!
      const browser = join(base, 'chromium')
      const exports = Object.entries(needs).map(([name, value]) => `export ${name}='${value}'\n`)
      writeFileSync(browser, `#!/bin/sh\n${exports.join('')}exec '${program}' "$@"\n`, { mode: 0o755 })
      const server = await enterServer(join(base, 'database'))
      try {
        await archive(us, folder, site, { DATABASE_URL: urlOf(server.address), CHROME_BINARY: browser })
      } finally {
        await server.leave()
      }
    },
    ...(isRoot && {
      'as another user': async (folder) => {
        const other = person(dirname(NODE), `${folder} home`, OTHER_USER)
        await install(other, folder, tarball)
        await archive(other, folder, site)
      },
      'by root, without scripts of packages, for a user who may not write there': async (folder) => {
        await install(us, folder, tarball, '--ignore-scripts')
        await archive(person(dirname(NODE), `${folder} home`, OTHER_USER), folder, site)
      },
      'on a file system that is read-only': async (folder) => {
        await install(us, folder, tarball)
        const mount = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
        const home = join(base, 'a writable home')
        const who = { ...person(dirname(NODE), home, { uid: 0, gid: 0 }) }
        await archive(who, folder, site, {}, ['unshare', '--mount', 'sh', '-c', mount, folder])
      },
    }),
  }
}

const site = await startSite({ '/': '<title>A page</title><script>document.title = "By a script"</script>' })
const failed: string[] = []
try {
  const [only] = process.argv.slice(2)
  const ways = Object.entries(waysOf(pack(base), site)).filter(([name]) => only === undefined || name.includes(only))
  for (const [at, [name, way]] of ways.entries()) {
    const folder = join(base, `${at + 1} für uns`)
    const begun = performance.now()
    const why = await way(folder).then(
      () => {
        const left = processesOf(base)
        killAll(left)
        return left.length === 0 ? undefined : `left running: ${left.map(({ command }) => command).join('; ')}`
      },
      (error: unknown) => String(error),
    )
    console.log(
      `${why === undefined ? 'ok    ' : 'FAILED'} ${name} (${((performance.now() - begun) / 1000).toFixed(0)} s)`,
    )
    if (why !== undefined) {
      console.log(why)
      failed.push(name)
    }
    rmSync(folder, { recursive: true, force: true })
  }
} finally {
  await site.close()
  killAll(processesOf(base))
  rmSync(base, { recursive: true, force: true })
}
console.log(failed.length === 0 ? 'installs in every way' : `failed: ${failed.join('; ')}`)
process.exitCode = failed.length === 0 ? 0 : 1
