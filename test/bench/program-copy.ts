import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { MAIN } from './program.ts'

/** A copy of the built program, to measure it from within. @returns its dist */
export function copyOfProgram(root: string): string {
  const dist = dirname(MAIN)
  cpSync(dist, join(root, 'dist'), { recursive: true, filter: (path) => !path.endsWith('.compile-cache') })
  cpSync(join(dirname(dist), 'package.json'), join(root, 'package.json'))
  symlinkSync(join(dirname(dist), 'node_modules'), join(root, 'node_modules'))
  return join(root, 'dist')
}

/** Where statements were put into a file, and how many lines they have. Lines and columns count from 0. */
export interface Put {
  readonly line: number
  readonly column: number
  readonly lines: number
}

/** Puts statements before those of a file of the copy. */
export function putFirst(file: string, statements: string): Put {
  const text = readFileSync(file, 'utf8')
  // Inside of the wrapper of a CommonJS bundle; else below the line that names the interpreter.
  const isWrapped = text.startsWith('(function')
  const at = isWrapped ? text.indexOf('{') + 1 : text.indexOf('\n') + 1
  writeFileSync(file, `${text.slice(0, at)}${statements}\n${text.slice(at)}`)
  return { line: isWrapped ? 0 : 1, column: isWrapped ? at : 0, lines: statements.split('\n').length }
}
