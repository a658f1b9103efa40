import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import { Spec, Validation } from '@cyclonedx/cyclonedx-library'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { pluginFolders } from '../../../src/hooks/plugin-folders.ts'
import { newFolder } from '../../support/homes.ts'
import { as, install, ownBytes, pack } from '../../support/packed.ts'
import { killAll, processesOf } from '../../support/processes.ts'
import { AS_OURSELVES, NODE, ROOT, WITHOUT_BROWSER } from '../../support/program.ts'
import { startSite } from '../../support/site.ts'

interface Bill {
  readonly components: readonly { name: string; version: string; hashes?: unknown[]; licenses?: unknown[] }[]
}

/** Whose code the sources import, rather than types. */
function importedPackages(): string[] {
  const built = globSync('src/**/*.ts', { cwd: ROOT }).filter((file) => !file.startsWith('src/cli/plugin-template'))
  const texts = built.map((file) => readFileSync(join(ROOT, file), 'utf8'))
  const from = /^(?:import (?!type\b)|export )[^'"`;]*? from '((?:@[\w-]+\/)?[\w][\w.-]*)(?:\/[^']*)?'/gm
  const names = texts.flatMap((text) => [...text.matchAll(from)].map(([, name]) => name!))
  return [...new Set(names)].filter((name) => !isBuiltin(name))
}

/** What people have beside PostgreSQL and the browser takes less than this. */
const MOST_BYTES = 40_000_000

// What `npm pack` makes, installed as people do it. `npm run nightly -- install` does it in every way.
describe('the package', () => {
  const us = { node: dirname(NODE) }
  let folder = ''
  let prefix = ''
  let installed = ''
  beforeAll(async () => {
    folder = newFolder()
    prefix = join(folder, 'anderswo für uns')
    await install(us, prefix, pack(folder))
    installed = join(prefix, 'node_modules', 'archivebox-ts')
  })
  afterAll(() => {
    const left = processesOf(folder)
    killAll(left)
    rmSync(folder, { recursive: true, force: true })
    expect(left).toEqual([])
  })

  it('takes less than 40 MB beside PostgreSQL and the browser, and has no source twice', () => {
    expect(ownBytes(prefix)).toBeLessThan(MOST_BYTES)
    const sources = globSync('**/*.{ts,tsx,mts}', { cwd: installed }).filter(
      (file) => !/^dist.types.*\.d\.ts$/.test(file),
    )
    expect(sources.filter((file) => !file.startsWith('dist/plugin-template/'))).toEqual([])
    const maps = globSync('**/*.map', { cwd: installed }).map((file) => readFileSync(join(installed, file), 'utf8'))
    expect(maps.length).toBeGreaterThan(10)
    expect(maps.filter((map) => map.includes('sourcesContent'))).toEqual([])
  })

  it('archives a page with its own browser, by npx where it was installed', async () => {
    const site = await startSite({ '/': '<title>A page</title><script>document.title = "By a script"</script>' })
    onTestFinished(() => site.close())
    const command = ['npx', 'archivebox-ts', 'add', '--run', '--plugins', 'html,dom', `${site.url}/`]
    const { code, stderr } = await as(us, prefix, command, { DATA_DIR: join(folder, 'by npx'), ...AS_OURSELVES })
    expect(code, stderr).toBe(0)
    const [dom] = globSync('archive/snapshots/**/dom/output.html', { cwd: join(folder, 'by npx') })
    expect(readFileSync(join(folder, 'by npx', dom!), 'utf8')).toContain('<title>By a script</title>')
  })

  it('holds the program, its docs, its licence and those of what is in it, and no sources, tests or leftovers', () => {
    expect(readdirSync(installed).sort()).toEqual(['LICENSE', 'README.md', 'dist', 'docs', 'package.json'])
    const { version } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as { version: string }
    expect(execFileSync(NODE, [join(installed, 'dist', 'main.js'), 'version'], { encoding: 'utf8' }).trim()).toBe(
      version,
    )
  })

  it('lists what of others is inside it: valid CycloneDX, with every package that the sources import', async () => {
    const text = readFileSync(join(installed, 'dist', 'sbom.cdx.json'), 'utf8')
    expect(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text)).toBeNull()
    const { components } = JSON.parse(text) as Bill
    const names = new Set(components.map(({ name }) => name))
    expect(importedPackages().filter((name) => !names.has(name))).toEqual([])
    for (const name of ['pg-protocol', 'tldts', 'entities', 'smart-buffer', 'rolldown']) expect(names).toContain(name)
    for (const name of ['vitest', 'typescript', 'axe-core', '@sparticuz/chromium']) expect(names).not.toContain(name)
    for (const { name, hashes, licenses } of components)
      expect({ name, hashes, licenses }).toMatchObject({
        hashes: [{ alg: 'SHA-512' }],
        licenses: [{}],
      })
    // Built again it is the same.
    expect(text).not.toMatch(/timestamp|serialNumber|BomRef\./)
  })

  it('has the licence of all of it, also of what is inside a package', () => {
    const licences = readFileSync(join(installed, 'dist', 'LICENSES.txt'), 'utf8')
    const { components } = JSON.parse(readFileSync(join(installed, 'dist', 'sbom.cdx.json'), 'utf8')) as Bill
    const titles = new Set(licences.match(/^\S+ \d\S*(?= \()/gm))
    expect(components.filter(({ name, version }) => !titles.has(`${name} ${version}`))).toEqual([])
    expect(licences).toMatch(/^pdfjs-dist [\d.]+ \(Apache-2\.0\) inside unpdf$/m)
    expect(licences).toMatch(/^Public Suffix List \(MPL-2\.0\) inside tldts$/m)
    expect(licences).toContain('TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION')
    expect(licences).toContain('Mozilla Public License, version 2.0')
  })

  it('knows its plugins without a look at their folders', () => {
    const tree = join(installed, 'dist', 'plugins')
    const kept = pluginFolders(tree, true)
    expect(kept.length).toBeGreaterThan(20)
    const byName = (folders: typeof kept) => folders.toSorted((a, b) => (a.name < b.name ? -1 : 1))
    expect(byName(kept)).toEqual(byName(pluginFolders(tree, false)))
    const aside = `${tree}-aside`
    renameSync(tree, aside)
    expect(pluginFolders(tree, false)).toEqual([])
    expect(pluginFolders(tree, true)).toEqual(kept)
    renameSync(aside, tree)
  })

  /** Archives the demo, six pages. @returns where */
  function archiveDemo(name: string): string {
    const dataDir = join(folder, name)
    const env = {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      DATA_DIR: dataDir,
      NO_COLOR: '1',
      ...AS_OURSELVES,
      ...WITHOUT_BROWSER,
    }
    const out = execFileSync(NODE, [join(installed, 'dist', 'main.js'), 'add', '--demo', '--run'], {
      env,
      encoding: 'utf8',
      stdio: 'pipe',
    })
    expect(JSON.parse(out)).toMatchObject({ type: 'Crawl', status: 'sealed', snapshots: 6, archived: 6 })
    return dataDir
  }

  it('archives a site where it was unpacked', () => {
    expect(existsSync(join(archiveDemo('data'), 'index.html'))).toBe(true)
  })

  it('runs its hooks in a host that has them in one file, and takes the code that an earlier host has kept', () => {
    const cache = join(installed, 'dist', '.compile-cache')
    const kept = () =>
      readdirSync(cache)
        .filter((name) => name.startsWith('hook-host-'))
        .map((name) => ({ name, written: statSync(join(cache, name)).mtimeMs }))
    const before = kept()
    expect(before).toHaveLength(1)
    for (const hook of globSync('*/on_Snapshot__*.js', { cwd: join(installed, 'dist', 'plugins') }))
      rmSync(join(installed, 'dist', 'plugins', hook))
    const dataDir = archiveDemo('more-data')
    expect(globSync('**/title/title.txt', { cwd: dataDir })).toHaveLength(6)
    expect(globSync('**/readability/content.txt', { cwd: dataDir })).toHaveLength(6)
    expect(kept()).toEqual(before)
  })

  it('refuses a Node that is too old with one line', () => {
    // The check must come before anything that an old Node cannot even parse.
    const main = readFileSync(join(installed, 'dist', 'main.js'), 'utf8')
    expect(main.indexOf('needs Node 22.18')).toBeGreaterThan(0)
    expect(
      main
        .match(/^import .* from ["'](?!node:)/gm)
        ?.every((line) => !line.includes('program') && !line.includes('entry')) ?? true,
    ).toBe(true)
  })
})
