import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './program.ts'

/** What people read, by its path in the repository: the README, then docs/ by name. */
export const DOCS: ReadonlyMap<string, string> = new Map(
  ['README.md', ...globSync('docs/*.md', { cwd: ROOT }).sort()].map((file) => [file, readDoc(file)]),
)

/** One of them. */
export function readDoc(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}

/** The blocks of a language in one of them. @param info what stands behind the backticks */
export function blocksIn(text: string, info: string): string[] {
  return [...text.matchAll(/^```([^\n]+)\n(.*?)^```$/gms)].flatMap(([, said, block]) => (said === info ? [block!] : []))
}

/** The commands that they show for a shell, in their order: tests run every one. */
export const SHOWN_COMMANDS: readonly string[] = [...DOCS.values()]
  .flatMap((text) => blocksIn(text, 'sh'))
  .flatMap((block) => block.split('\n').filter(Boolean))
