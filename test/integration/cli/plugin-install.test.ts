import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { resultsOf } from '../../support/archive.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { plugin } from '../../support/plugins.ts'
import { expectRefused } from '../../support/refused.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site
beforeAll(async () => {
  site = await startSite(1)
})
afterAll(() => site.close())

/** A home with a plugin that needs the Node module `made-up`, and with an npm that can install that. */
async function newHome(): Promise<{ home: TestHome; env: Record<string, string> }> {
  const home = await homes.make()
  plugin(home, 'modular', 'node -e \'console.log("found", require("made-up"))\' >found.txt')
  const required = { name: 'made-up', binproviders: 'pnpm', overrides: { pnpm: { install_args: ['made-up@2'] } } }
  const config = join(home.dataDir, 'plugins/modular/config.json')
  writeFileSync(config, JSON.stringify({ required_binaries: [required] }))
  const bin = join(home.dataDir, 'bin')
  mkdirSync(bin)
  const module = '"$3/node_modules/made-up"'
  writeFileSync(
    join(bin, 'npm'),
    `#!/bin/sh
echo "$@" >"$DATA_DIR/npm.txt"
[ -e "$DATA_DIR/offline" ] && exit 1
mkdir -p ${module}
echo '{"name": "made-up", "version": "2.0"}' >${module}/package.json
echo 'module.exports = 42' >${module}/index.js
`,
  )
  chmodSync(join(bin, 'npm'), 0o755)
  const env = { PATH: `${bin}:${process.env['PATH']}`, ABXPKG_LIB_DIR: join(home.dataDir, 'lib') }
  return { home, env }
}

it('plugin install brings the modules that a plugin lacks, which it finds in its next crawl', async () => {
  const { home, env } = await newHome()
  const archive = async () => {
    const crawl = await home.add('--plugins', 'modular', `${site.url}/page-1.html`)
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], { env })
    expect(code, stderr).toBe(0)
    return (await resultsOf(home, crawl))[0]!
  }
  expect(await archive()).toMatchObject({
    status: 'skipped',
    output_str: 'made-up not found: archivebox-ts plugin install modular',
  })
  const { stdout, stderr, code } = await home.run(['plugin', 'install', 'modular'], { env })
  expect(code, stderr).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ name: 'made-up', plugin: 'modular', status: 'installed' })
  expect(readFileSync(join(home.dataDir, 'npm.txt'), 'utf8')).toMatch(/ --ignore-scripts made-up@2\n$/)
  expect(await archive()).toMatchObject({ status: 'succeeded', output_files: { 'found.txt': { size: 9 } } })
  expect((await home.run(['plugin', 'install', 'modular'], { env })).stderr).toBe('nothing is missing\n')
})

it('plugin install says what it cannot install, and refuses a plugin that is not there', async () => {
  const { home, env } = await newHome()
  writeFileSync(join(home.dataDir, 'offline'), '')
  const { stdout, code } = await home.run(['plugin', 'install', 'modular'], { env })
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject({
    status: 'missing',
    message: expect.stringMatching(/^made-up: \S+\/npm install .* failed$/) as string,
  })
  expectRefused(await home.run(['plugin', 'install', 'modulr'], { env }), /no plugin modulr: did you mean modular/)
})

it('plugin install replay keeps nothing of a package that is not the published one', async () => {
  const home = await homes.make()
  const bin = join(home.dataDir, 'bin')
  mkdirSync(bin)
  const env = { PATH: `${bin}:${process.env['PATH']}`, ABXPKG_LIB_DIR: join(home.dataDir, 'lib') }
  const withNpm = async (script: string) => {
    writeFileSync(join(bin, 'npm'), `#!/bin/sh\n${script}\n`)
    chmodSync(join(bin, 'npm'), 0o755)
    const { stdout, stderr, code } = await home.run(['plugin', 'install', 'replay'], { env })
    expect([code, readdirSync(join(home.dataDir, 'lib/replay'))]).toEqual([1, []])
    const record = JSON.parse(stdout) as { message: string }
    expect(record).toMatchObject({ plugin: 'replay', status: 'missing', abspath: '' })
    expect(stderr).toContain(`missing:   ${record.message}\n`)
    return record.message
  }
  const forged = await withNpm('echo "$@" >"$DATA_DIR/npm.txt"; echo forged >"$4/replaywebpage-2.5.3.tgz"')
  expect(forged).toMatch(/^replaywebpage 2\.5\.3: its checksum is not .*: nothing is kept$/)
  expect(readFileSync(join(home.dataDir, 'npm.txt'), 'utf8')).toMatch(/^pack replaywebpage@2\.5\.3 --pack-destination /)
  expect(await withNpm('exit 1')).toMatch(/^replaywebpage 2\.5\.3: \S+\/npm pack .* failed$/)
  expect(await withNpm('')).toBe('replaywebpage 2.5.3: npm pack wrote no file')
  expect(existsSync(join(home.dataDir, 'lib/replay/2.5.3'))).toBe(false)
})
