import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './program.ts'

/** The documents for users, by path in the repository: the README, then docs/ by name. */
export const DOCS: ReadonlyMap<string, string> = new Map(
  ['README.md', ...globSync('docs/*.md', { cwd: ROOT }).sort()].map((file) => [file, readDoc(file)]),
)

/** Reads one of them. */
export function readDoc(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}

/** The code blocks in one language in a text. @param info the text after the backticks */
export function blocksIn(text: string, info: string): string[] {
  return [...text.matchAll(/^```([^\n]+)\n(.*?)^```$/gms)].flatMap(([, said, block]) => (said === info ? [block!] : []))
}

/** The shell commands that they show, in order, each once: tests run every one. */
export const SHOWN_COMMANDS: readonly string[] = [
  ...new Set(
    [...DOCS.values()].flatMap((text) => blocksIn(text, 'sh')).flatMap((block) => block.split('\n').filter(Boolean)),
  ),
]
