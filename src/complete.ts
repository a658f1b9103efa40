// Called by shells at each Tab (`completion words WORD...`): a separate entry, since the whole program takes too long
// to load for that.
import { readFileSync } from 'node:fs'
import { asset } from './base/package-root.ts'
import { lookUp } from './cli/completion/look-up.ts'
import type { VerbTree } from './cli/completion/tree.ts'
import { complete } from './cli/completion/words.ts'

/**
 * Prints `files` or `words`, then a line for each word, with its meaning after a tab: completions of the last of these
 * words, which begin with the name of the program.
 */
async function answer(words: readonly string[]): Promise<void> {
  const tree = JSON.parse(readFileSync(asset('verbs.json', 'verbs.json'), 'utf8')) as VerbTree
  const { files, words: found } = await complete(tree, words.slice(1), lookUp)
  const lines = found.map(({ word, about }) => `${word}\t${about.replaceAll(/[\s`]+/g, ' ').trim()}`)
  process.stdout.write(`${[files ? 'files' : 'words', ...lines].join('\n')}\n`)
}

// Nobody reads errors in the middle of a command line: then there are no words.
answer(process.argv.slice(4)).catch(() => process.exit(1))
