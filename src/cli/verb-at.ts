import { GLOBAL_OPTIONS } from './global-options.ts'

/** Options before the verb that are followed by what they set. */
const TAKES_VALUE = new Set(GLOBAL_OPTIONS.flatMap(([flags]) => /^(\S+) </.exec(flags)?.[1] ?? []))

/** The place of the verb in `process.argv`; -1: there is none. */
export function verbAt(argv: readonly string[]): number {
  return argv.findIndex((word, index) => index > 1 && !word.startsWith('-') && !TAKES_VALUE.has(argv[index - 1]!))
}

/** Is this word, where a verb is expected, the URL of a page? */
export function isPage(word = ''): boolean {
  return /^https?:\/\/|^(?:[\w-]+\.)+\w/i.test(word)
}
