import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

export const SRC = join(import.meta.dirname, '..', 'src')

/** One import of a file of ours by another, types included. */
export interface Edge {
  readonly from: string
  readonly to: string
}

/** The sources, by their paths below `src`. */
export const files: readonly string[] = globSync('**/*.ts', { cwd: SRC }).sort()

/** All imports among them. */
export const edges: readonly Edge[] = files.flatMap(edgesOf)

function edgesOf(from: string): Edge[] {
  const code = readFileSync(join(SRC, from), 'utf8').replace(/^\s*(\/\/|\*|\/\*).*$/gm, '')
  const found = code.matchAll(/\b(?:import|export)\b[^;'`]*?'(\.\.?\/[^'\n]*\.ts)'/g)
  return [...found].map(([, target]) => ({ from, to: relative(SRC, join(SRC, dirname(from), target!)) }))
}

/** The folder of a file below `src`; a file that lies there itself is one. */
export const roomOf = (file: string): string => file.split('/')[0]!
