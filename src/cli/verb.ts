import type { Command } from 'commander'

/** A verb with the settings that commander does not hand down. */
export function verb(parent: Command, name: string, description: string, examples: readonly string[] = []): Command {
  const command = parent
    .command(name)
    .description(description)
    .exitOverride()
    .showHelpAfterError(`Try: archivebox-ts help ${name}`)
  if (examples.length > 0)
    command.addHelpText('after', `\nExamples:\n${examples.map((line) => `  ${line}`).join('\n')}`)
  return command
}

/** Takes one more value of an option that may be repeated. */
export function collect(value: string, all: string[]): string[] {
  return [...all, value]
}
