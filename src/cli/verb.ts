import type { Command } from 'commander'

/** A verb with the settings that commander does not hand down. Its examples are run by a test. */
export function verb(parent: Command, name: string, description: string, examples: readonly string[] = []): Command {
  const path = parent.parent ? `${parent.name()} ${name}` : name
  const command = parent
    .command(name)
    .description(description)
    .exitOverride()
    .showHelpAfterError(`Try: archivebox-ts help ${path}`)
  if (examples.length > 0)
    command.addHelpText('after', `\nExamples:\n${examples.map((line) => `  ${line}`).join('\n')}`)
  return command
}

/** Takes one more value of an option that may be repeated. */
export function collect(value: string, all: string[]): string[] {
  return [...all, value]
}
