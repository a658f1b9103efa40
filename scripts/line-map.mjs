import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { decode, encode } from '@jridgewell/sourcemap-codec'

/**
 * Keeps only the lines of our own sources in a bundler's source map, which stacks need: a tenth of its size.
 * @param before how many lines were added before the bundle
 */
export function keepLines(file, root, before = 0) {
  const { sources, mappings } = JSON.parse(readFileSync(file, 'utf8'))
  const names = sources.map((source) => relative(root, join(dirname(file), source)))
  const kept = names.filter((name) => name.startsWith('src/'))
  const index = new Map(kept.map((name, at) => [name, at]))
  const lines = decode(mappings).map((segments) => changesOfLine(segments, (source) => index.get(names[source])))
  const all = [...Array.from({ length: before }, () => []), ...lines]
  const sourceRoot = `${relative(dirname(file), root)}/`
  writeFileSync(file, JSON.stringify({ version: 3, sourceRoot, sources: kept, names: [], mappings: encode(all) }))
}

/** Where another line begins, or foreign code: such a segment names no source. */
function changesOfLine(segments, ours) {
  let last = []
  return segments.flatMap(([column, source, line]) => {
    const at = source === undefined ? undefined : ours(source)
    const place = at === undefined ? [] : [at, line, 0]
    if (`${place}` === `${last}`) return []
    last = place
    return [[column, ...place]]
  })
}
