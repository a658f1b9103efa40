import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { asset } from '../../base/package-root.ts'
import type { Scripts } from '../script/scripts.ts'

/** Calls a bundled page script, as an expression. The build provides the scripts for runs from source, too. */
export function inPage<N extends keyof Scripts>(name: N, ...given: Parameters<Scripts[N]>): string {
  const call = `return script(${given.map((value) => JSON.stringify(value)).join()})`
  return `(() => {${textOf(name)}\n${call}})()`
}

const known = new Map<string, string>()

function textOf(name: string): string {
  const text = known.get(name) ?? readFileSync(join(asset('in-page', '../dist/in-page'), `${name}.js`), 'utf8')
  known.set(name, text)
  return text
}
