import { GLOBAL_OPTIONS } from './global-options.ts'

/** Options that take a value, and may come before the verb. */
const TAKES_VALUE = new Set(GLOBAL_OPTIONS.flatMap(([flags]) => /^(\S+) </.exec(flags)?.[1] ?? []))

/** The position of the verb in `process.argv`; -1: there is none. */
export function verbAt(argv: readonly string[]): number {
  return argv.findIndex((word, index) => index > 1 && !word.startsWith('-') && !TAKES_VALUE.has(argv[index - 1]!))
}

/** Whether this word, where a verb is expected, is the URL of a page. */
export function isPage(word = ''): boolean {
  return /^https?:\/\/|^(?:[\w-]+\.)+\w/i.test(word)
}
