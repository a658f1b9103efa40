import { createHash, hash } from 'node:crypto'
import { closeSync, constants, lstatSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf, messageOf } from '../../base/errors.ts'
import { own } from '../../base/own.ts'
import type { RecordedFile, RecordedPage } from '../../db/recorded-files.ts'

/** What is wrong with one file or folder. */
export interface Problem {
  readonly problem: 'missing' | 'changed' | 'unreadable' | 'unknown' | 'no page' | 'no package' | 'left behind'
  /** Relative to the data dir. */
  readonly path: string
  /** What was found, and what was expected. */
  readonly detail: string
}

/** The outcome of checking a page. */
export interface Checked {
  readonly id: string
  readonly problems: readonly Problem[]
  readonly files: number
  /** Files whose content was compared. */
  readonly hashed: number
  readonly bytes: number
}

const PAGES = ['index.html', 'index.jsonl']
const READ_BYTES = 1_048_576

/** Compares a page's folder with its rows and, unless `quick`, the content of its files with their hashes. */
export function checkPage(dataDir: string, page: RecordedPage, quick: boolean): Checked {
  try {
    return check(dataDir, page, quick)
  } catch (error) {
    const problem: Problem = { problem: 'unreadable', path: page.output_dir, detail: messageOf(error) }
    return { id: page.id, problems: [problem], ...NOTHING }
  }
}

function check(dataDir: string, page: RecordedPage, quick: boolean): Checked {
  const problems: Problem[] = []
  const at = (path: string) => `${page.output_dir}/${path}`
  const say = (problem: Problem['problem'], path: string, detail: string) =>
    problems.push({ problem, path: at(path), detail })
  const dir = join(dataDir, page.output_dir)
  const found = filesIn(dir)
  if (found === undefined) {
    const lost = `its folder is missing, with ${Object.keys(page.files).length} files`
    return { id: page.id, problems: [{ problem: 'missing', path: page.output_dir, detail: lost }], ...NOTHING }
  }
  const right: string[] = []
  for (const [path, recorded] of Object.entries(page.files)) {
    const wrong = compared(join(dir, path), recorded)
    if (wrong) say(wrong.problem, path, wrong.detail)
    else right.push(path)
  }
  for (const path of found.published) if (!Object.hasOwn(page.files, path)) say('unknown', path, 'no result made it')
  for (const name of PAGES) if (!found.beside.has(name)) say('no page', name, 'the page that shows it is missing')
  let bytes = 0
  let hashed = 0
  if (!quick && page.hashes !== undefined && right.includes(page.hashes)) {
    const buffer = Buffer.allocUnsafe(READ_BYTES)
    const hashes = hashesIn(join(dir, page.hashes))
    for (const path of right) {
      const expected = own(page.files, path)!.hashed ? hashes.get(path) : undefined
      if (expected === undefined) continue
      hashed += 1
      bytes += own(page.files, path)!.size
      const is = sha256Of(join(dir, path), buffer)
      if (is instanceof Error) say('unreadable', path, messageOf(is))
      else if (is !== expected) say('changed', path, `its SHA-256 is ${is}, and was ${expected}`)
    }
  }
  return { id: page.id, problems, files: Object.keys(page.files).length, hashed, bytes }
}

const NOTHING = { files: 0, hashed: 0, bytes: 0 }

/** The paths in the folders of plugins, and the names beside them; undefined: no such folder. */
function filesIn(dir: string): { published: readonly string[]; beside: ReadonlySet<string> } | undefined {
  const published: string[] = []
  const beside = new Set<string>()
  const walk = (below: string) => {
    for (const entry of readdirSync(`${dir}/${below}`, { withFileTypes: true })) {
      if (entry.isDirectory()) walk(`${below}/${entry.name}`)
      else published.push(`${below}/${entry.name}`)
    }
  }
  try {
    for (const entry of readdirSync(dir, { withFileTypes: true })) {
      if (!entry.isDirectory()) beside.add(entry.name)
      else if (!entry.name.startsWith('.')) walk(entry.name)
    }
    return { published, beside }
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined
    throw error
  }
}

/** What is wrong with a file, as far as that shows without reading it. */
function compared(path: string, { size, link }: RecordedFile): Omit<Problem, 'path'> | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (!stats) return { problem: 'missing', detail: 'it does not exist' }
  const is = stats.isSymbolicLink()
    ? `a link to ${readlinkSync(path)}`
    : stats.isFile()
      ? `${stats.size} bytes`
      : 'not a file'
  const was = link === null ? `${size} bytes` : `a link to ${link}`
  return is === was ? undefined : { problem: 'changed', detail: `it is ${is}, and was ${was}` }
}

function hashesIn(file: string): ReadonlyMap<string, string> {
  try {
    const { files } = JSON.parse(readFileSync(file, 'utf8')) as { files: { path: string; sha256?: string }[] }
    return new Map(files.flatMap(({ path, sha256 }) => (sha256 === undefined ? [] : [[path, sha256]])))
  } catch {
    return new Map() // Written by another program.
  }
}

/** The SHA-256 of a file, in hexadecimal; or why it cannot be read. */
function sha256Of(path: string, buffer: Buffer): string | Error {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
    try {
      let length = readSync(fd, buffer)
      if (length < buffer.length) return hash('sha256', buffer.subarray(0, length))
      const sha256 = createHash('sha256')
      for (; length > 0; length = readSync(fd, buffer)) sha256.update(buffer.subarray(0, length))
      return sha256.digest('hex')
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    return error as Error
  }
}
