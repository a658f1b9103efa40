import { posix } from 'node:path'
import { leadsOut } from '../../base/leads-out.ts'

/** What a row says of a file. */
export interface NamedFile {
  readonly mimetype: string
  /** The target of a symbolic link, relative to the folder where that is. */
  readonly link?: string
}

/** The files that the rows of a capture name, by their paths below its folder. */
export type NamedFiles = ReadonlyMap<string, NamedFile>

/** No row names a longer one, and each of its steps costs. */
const LONGEST = 4_096
const DEEPEST = 128
/** More links than this are a circle. */
const MOST_LINKS = 16

/** A path as a browser sends it, decoded once. Undefined: nothing that a row names is written like that. */
export function pathSent(text: string): string | undefined {
  // An encoded slash is none of a link of ours; a backslash is one for some browsers.
  if (text.length > LONGEST || text.split('/').length > DEEPEST || /%(?:2f|5c|00)|\\/i.test(text)) return undefined
  try {
    const path = decodeURIComponent(text)
    return path.startsWith('.') || /[\0\\]/.test(path) || leadsOut(path.replace(/\/$/, '')) ? undefined : path
  } catch {
    return undefined
  }
}

/**
 * The file that an address means: itself, a folder's first page, or, as wget names what it saves, with the query in its
 * name and `.html` or `.css` behind it.
 * Links are followed in the list alone.
 * @param path decoded, it may end with a slash
 * @param query as it was sent
 */
export function namedFile(files: NamedFiles, path: string, query?: string): string | undefined {
  for (const name of written(path, query)) {
    const end = endOfLinks(files, name)
    if (end !== undefined) return end
  }
  return undefined
}

function written(path: string, query: string | undefined): string[] {
  const folder = path.replace(/\/$/, '')
  const indexes = [`${folder}/index.html`, `${folder}/index.htm`]
  const plain = path.endsWith('/') ? indexes : [path, `${path}.html`, ...indexes]
  if (!query) return plain
  const file = path.endsWith('/') ? `${path}index.html` : path
  const queries = [query, decoded(query)].filter((text) => text !== undefined)
  const asked = queries.flatMap((text) => ['?', '@'].flatMap((mark) => [`${file}${mark}${text}`]))
  return [...new Set(asked)].flatMap((name) => [name, `${name}.html`, `${name}.css`]).concat(plain)
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** The file at a path, links on its way replaced by their targets. Undefined: the rows name none. */
function endOfLinks(files: NamedFiles, name: string): string | undefined {
  let path = name
  for (let count = 0; count < MOST_LINKS; count += 1) {
    if (leadsOut(path)) return undefined
    const at = linkOn(files, path)
    if (at === undefined) return files.has(path) ? path : undefined
    const { link } = files.get(at)!
    const target = posix.join(posix.dirname(at), link!)
    // It stays in the folder of its plugin.
    if (link!.startsWith('/') || target.split('/')[0] !== at.split('/')[0]) return undefined
    path = target.replace(/\/$/, '') + path.slice(at.length)
  }
  return undefined
}

/** The first link on the way to a path. */
function linkOn(files: NamedFiles, path: string): string | undefined {
  for (let end = path.indexOf('/'); ; end = path.indexOf('/', end + 1)) {
    const step = end === -1 ? path : path.slice(0, end)
    if (files.get(step)?.link !== undefined) return step
    if (end === -1) return undefined
  }
}
