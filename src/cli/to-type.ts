import { shellWord } from '../base/words.ts'
import type { GlobalOptions } from './options.ts'

/** A command line to type next, `archivebox-ts ...`: each command with the --data-dir that was given on this one. */
export function toType({ dataDirGiven }: Pick<GlobalOptions, 'dataDirGiven'>, line: string): string {
  if (dataDirGiven === undefined) return line
  return line.replaceAll('archivebox-ts ', (name) => `${name}--data-dir ${shellWord(dataDirGiven)} `)
}
