import type { Command } from 'commander'
import { UsageError } from '../base/errors.ts'
import { closest } from '../base/near-miss.ts'

/** `help VERB...`: how to use a verb, or a verb of a verb. Throws UsageError for one that is not there. */
export function help(root: Command, path: readonly string[]): void {
  let command = root
  for (const [depth, word] of path.entries()) {
    const found = command.commands.find((each) => each.name() === word)
    if (!found) throw unknown(command, path.slice(0, depth), word)
    command = found
  }
  command.outputHelp()
}

function unknown(command: Command, path: readonly string[], word: string): UsageError {
  const there = command.commands.map((each) => each.name())
  const meant = closest(word, there)
  return new UsageError(
    `there is no verb "${[...path, word].join(' ')}"${meant === undefined ? '' : `: did you mean ${meant}?`}`,
    `Try: archivebox-ts help${path.map((each) => ` ${each}`).join('')}`,
  )
}
