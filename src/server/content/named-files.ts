import { posix } from 'node:path'
import { leadsOut } from '../../base/leads-out.ts'

/** What a row tells of a file. */
export interface NamedFile {
  readonly mimetype: string
  /** The target of a symbolic link, relative to its folder. */
  readonly link?: string
}

/** The files in the rows of a capture, by their paths below its folder. */
export type NamedFiles = ReadonlyMap<string, NamedFile>

/** Longer paths are not in any row, and each step costs. */
const LONGEST = 4_096
const DEEPEST = 128
/** More links than this are a circle. */
const MOST_LINKS = 16

/** A path as a browser sends it, decoded once. Undefined: no row can name it. */
export function pathSent(text: string): string | undefined {
  // Our links contain no encoded slash; some browsers treat a backslash as a slash.
  if (text.length > LONGEST || text.split('/').length > DEEPEST || /%(?:2f|5c|00)|\\/i.test(text)) return undefined
  try {
    const path = decodeURIComponent(text)
    return path.startsWith('.') || /[\0\\]/.test(path) || leadsOut(path.replace(/\/$/, '')) ? undefined : path
  } catch {
    return undefined
  }
}

/**
 * The file that an address means: the path itself, the first page of a folder, or, as wget names its files, a name that
 * includes the query, with `.html` or `.css` behind it. Links are followed within the list only.
 * @param path decoded, it may end with a slash
 * @param query as sent
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

/** The file at a path, with links on its way replaced by their targets. Undefined: the rows do not have it. */
function endOfLinks(files: NamedFiles, name: string): string | undefined {
  let path = name
  for (let count = 0; count < MOST_LINKS; count += 1) {
    if (leadsOut(path)) return undefined
    const at = linkOn(files, path)
    if (at === undefined) return files.has(path) ? path : undefined
    const { link } = files.get(at)!
    const target = posix.join(posix.dirname(at), link!)
    // It must stay in the folder of its plugin.
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
