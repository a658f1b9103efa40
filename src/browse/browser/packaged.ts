import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createBrotliDecompress } from 'node:zlib'
import { extract } from 'tar-fs'
import { FileLock } from '../../base/file-lock.ts'
import { flush } from '../../base/flush.ts'
import { hasSqlite, SQLITE, withoutSqlite } from './no-sqlite.ts'

const PACKAGE = '@sparticuz/chromium'
const FONTS = 'fonts.conf'
const NO_SQLITE = 'no-sqlite'
/**
 * The archives in the package, and their folders: libraries that a bare system lacks, fonts, and a software renderer.
 */
const ARCHIVES = { 'al2023.tar.br': 'al2023', 'fonts.tar.br': 'fonts', 'swiftshader.tar.br': '.' }

/** A browser that can be started. */
export interface Browser {
  /** Absolute path. */
  readonly program: string
  /** Known for the packaged browser. */
  readonly version?: string
  /** What its process needs in its environment. */
  readonly env: Readonly<Record<string, string>>
}

/**
 * The browser that comes as a compressed npm package: its version and files; undefined: the package is not installed.
 */
export function packagedBrowser(): { readonly version: string; readonly files: string } | undefined {
  try {
    const main = createRequire(import.meta.url).resolve(PACKAGE)
    const root = dirname(dirname(main))
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    return { version, files: join(root, 'bin') }
  } catch {
    return undefined
  }
}

/**
 * Unpacks the packaged browser (about 210 MB) once, into a folder named after its version below `folder`: concurrent
 * callers wait, and the folder is always complete. Throws the file system's error.
 * @returns undefined when the package is not installed
 */
export async function unpackBrowser(folder: string): Promise<Browser | undefined> {
  const packaged = packagedBrowser()
  if (!packaged) return undefined
  const home = join(folder, `chromium-${packaged.version}`)
  const libraries = ['al2023/lib', ...(hasSqlite() ? [] : [NO_SQLITE])].map((each) => join(home, each))
  mkdirSync(folder, { recursive: true })
  if (!libraries.every((each) => existsSync(each))) {
    const lock = new FileLock(`${home}.lock`)
    try {
      await lock.exclusive(5 * 60_000)
      if (!existsSync(home)) await unpack(packaged.files, home)
      else if (!existsSync(join(home, NO_SQLITE))) await addLibrary(home) // Unpacked by an earlier version.
    } finally {
      lock.release()
    }
  }
  return {
    program: join(home, 'chromium'),
    version: packaged.version,
    env: { LD_LIBRARY_PATH: libraries.join(':'), FONTCONFIG_FILE: join(home, FONTS) },
  }
}

/** Adds the fonts of the package, which a bare system needs, to the system's own. */
function fontsConfiguration(home: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>/usr/share/fonts</dir>
  <dir>/usr/local/share/fonts</dir>
  <dir>${home}/fonts</dir>
  <cachedir>${home}/fonts-cache</cachedir>
</fontconfig>
`
}

async function unpack(files: string, home: string): Promise<void> {
  const part = `${home}.part`
  rmSync(part, { recursive: true, force: true }) // Left by a killed process.
  mkdirSync(part)
  const whole = (name: string) => [createReadStream(join(files, name)), createBrotliDecompress()] as const
  await pipeline(...whole('chromium.br'), createWriteStream(join(part, 'chromium'), { mode: 0o755 }))
  for (const [name, folder] of Object.entries(ARCHIVES)) await pipeline(...whole(name), extract(join(part, folder)))
  writeFileSync(join(part, FONTS), fontsConfiguration(home))
  await addLibrary(part)
  // Whatever has its final name is complete, even after a power cut.
  await flush(['.', ...readdirSync(part, { recursive: true, encoding: 'utf8' })].map((path) => join(part, path)))
  renameSync(part, home)
}

/** Puts a SQLite that opens nothing beside the browser, atomically. */
async function addLibrary(home: string): Promise<void> {
  const part = join(home, `${NO_SQLITE}.part`)
  rmSync(part, { recursive: true, force: true })
  mkdirSync(part)
  writeFileSync(join(part, SQLITE), withoutSqlite())
  await flush([join(part, SQLITE), part])
  renameSync(part, join(home, NO_SQLITE))
}
