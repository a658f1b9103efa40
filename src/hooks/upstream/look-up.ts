import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { isAbsolute } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { own } from '../../base/own.ts'
import { type AskedAs, askProgram } from './ask-program.ts'
import type { RequiredBinary } from './required-binaries.ts'
import { type Found, providersOf, type Wanted } from './search.ts'

/** How long a program may take to print its version. */
const VERSION_MS = 5_000

/** A program that was asked for its version. */
export interface Answered {
  /** '' when it printed none. */
  readonly version: string
  /** Why hooks cannot start it. */
  readonly whyNot?: string | undefined
}

/** Asks a program for its version: what its output has that looks like one. */
export async function askVersion(abspath: string, as: AskedAs): Promise<Answered> {
  const answer = await askProgram(abspath, ['--version'], { withinMs: VERSION_MS, ...as })
  const version = /\d+(?:\.\d+)+[\w-]*/.exec(`${answer.stdout}\n${answer.stderr}`)?.[0] ?? ''
  if (!as.become || !answer.isOutOfReach) return { version }
  const whyNot = `hooks run as user ${as.become.name}, who cannot start ${abspath}: install it for all users`
  return { version: '', whyNot }
}

/**
 * Looks for a program until there is one that hooks can start: their account finds it along PATH, too.
 * @param search finds the next place that is not among the unusable ones
 * @returns its place and version; or why hooks cannot start the first one; or nothing
 */
export async function firstUsable(
  search: (unusable: ReadonlySet<string>) => Promise<Found | undefined>,
  look: (found: Found) => Promise<Answered>,
): Promise<(Found & Answered) | undefined> {
  const unusable = new Map<string, Found & Answered>()
  for (;;) {
    const found = await search(new Set(unusable.keys()))
    if (found === undefined || unusable.has(found.abspath)) return [...unusable.values()][0]
    const looked = { ...found, ...(await look(found)) }
    if (looked.whyNot === undefined) return looked
    unusable.set(found.abspath, looked)
  }
}

/** The SHA-256 of a file, in hexadecimal; '' for anything else: a pipe might take its place, and never end. */
export async function sha256Of(file: string): Promise<string> {
  const opened = await open(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!(await opened.stat()).isFile()) return ''
    const hash = createHash('sha256')
    await pipeline(opened.createReadStream({ autoClose: false }), hash)
    return hash.digest('hex')
  } finally {
    await opened.close()
  }
}

/** Whether this version is older than that one. Compares number by number; an unknown version is not too old. */
export function isOlder(version: string, than: string): boolean {
  const numbers = (text: string) => text.split(/[.-]/).map((part) => Number.parseInt(part, 10) || 0)
  if (version === '' || than === '') return false
  const [a, b] = [numbers(version), numbers(than)]
  for (let i = 0; i < Math.max(a.length, b.length); i += 1)
    if ((a[i] ?? 0) !== (b[i] ?? 0)) return (a[i] ?? 0) < (b[i] ?? 0)
  return false
}

const COMMANDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    apt: 'apt-get install',
    brew: 'brew install',
    cargo: 'cargo install',
  }),
)
/** Browsers, for which the system's own will do. */
const SYSTEM: ReadonlyMap<string, string> = new Map(Object.entries({ linux: 'apt', darwin: 'brew' }))
/** `plugin install` does their work. */
const OURS = new Set(['npm', 'pnpm', 'yarn', 'bun', 'uv', 'pip'])

/** "wget not found: apt-get install wget", with the command of the first provider that this platform has. */
export function notFound({ name, plugin, binary }: Omit<Wanted, 'tree'>): string {
  if (isAbsolute(name)) return `${name} not found`
  const command = installCommand(name, binary.binproviders, binary, plugin)
  const isExtension = providersOf(binary.binproviders).includes('chromewebstore')
  const place = isExtension
    ? `put ${name}.extension.json into CHROMEWEBSTORE_EXTENSIONS_DIR, as abxpkg does`
    : 'install it, and make sure that PATH leads to it'
  return `${name} not found: ${command ?? place}`
}

/**
 * The command of the first provider that this platform has; undefined: none of them has one.
 * @param about names its packages, where they have other names
 */
export function installCommand(
  name: string,
  binproviders: string,
  about?: Pick<RequiredBinary, 'rules'>,
  plugin = '',
): string | undefined {
  const strange = process.platform === 'darwin' ? 'apt' : 'brew'
  const providers = binproviders === '*' ? ['apt', 'brew'] : providersOf(binproviders)
  for (const provider of providers.filter((one) => one !== strange)) {
    if (OURS.has(provider)) return `archivebox-ts plugin install ${plugin}`.trim()
    const isBrowser = provider === 'playwright' || provider === 'puppeteer'
    const command = COMMANDS.get(isBrowser ? (SYSTEM.get(process.platform) ?? '') : provider)
    const packages = own(about?.rules ?? {}, provider)?.installArgs ?? []
    if (command) return `${command} ${isBrowser || packages.length === 0 ? name : packages.join(' ')}`
  }
  return undefined
}

/** "node 20.1.0 is too old: 22.12.0 or newer is needed". */
export function tooOld(name: string, version: string, needed: string): string {
  return `${name} ${version} is too old: ${needed} or newer is needed`
}
