import { readFileSync } from 'node:fs'
import type { SourceMap } from 'node:module'
import { BUILT } from '../version.ts'

/** Has a process of the build name our sources wherever it shows a stack, also of an error that nobody caught. */
export function showSourceLines(): void {
  if (!BUILT) return
  nameSourceLines()
  process.on('uncaughtException', printUncaught)
}

/**
 * Has stacks name our sources (`src/cli/root.ts:46`), by the maps beside the bundles. A map is read when a stack is
 * formatted first. Node's own support reads all maps at the start, those of what `node:vm` runs never, and those of an
 * installed package neither.
 */
export function nameSourceLines(): void {
  const format = Error.prepareStackTrace
  if (format) Error.prepareStackTrace = (error, frames) => [format(error, []), ...frames.map(named)].join('\n    at ')
}

/** As Node does it, but without the line of the file, which is the whole bundle. */
function printUncaught(error: unknown): void {
  if (process.listeners('uncaughtException').at(-1) !== printUncaught) return // Who listens since then knows better.
  console.error(error)
  process.exit(1)
}

const maps = new Map<string, SourceMap | undefined>()

function named(frame: NodeJS.CallSite): string {
  const [file, line, column] = [frame.getFileName(), frame.getLineNumber(), frame.getColumnNumber()]
  if (!file || !line || !column) return String(frame)
  if (!maps.has(file)) maps.set(file, mapOf(file))
  const origin = maps.get(file)?.findOrigin(line, column)
  if (!origin || !('fileName' in origin)) return String(frame)
  return String(frame).replace(`${file}:${line}:${column}`, () => `${origin.fileName}:${origin.lineNumber}`)
}

/** @param file as V8 names it: a module by its URL */
function mapOf(file: string): SourceMap | undefined {
  const { fileURLToPath } = process.getBuiltinModule('node:url')
  const { SourceMap } = process.getBuiltinModule('node:module')
  try {
    return new SourceMap(
      JSON.parse(readFileSync(`${file.startsWith('file:') ? fileURLToPath(file) : file}.map`, 'utf8')),
    )
  } catch {
    return undefined // Node's own file, or one without a map.
  }
}
