import { Command } from 'commander'

/** A command whose action returns its exit code; nothing means 0. The only place that sets it, except for errors. */
export class Verb extends Command {
  override createCommand(name?: string): Command {
    return new Verb(name)
  }

  override action(act: (...args: never[]) => unknown): this {
    return super.action(async (...args: unknown[]) => {
      const code: unknown = await Reflect.apply(act, this, args)
      if (typeof code === 'number') process.exitCode = code
    })
  }
}

/** A verb, with the settings that commander does not inherit. A test runs its examples. */
export function verb(parent: Command, name: string, description: string, examples: readonly string[] = []): Verb {
  const path = parent.parent ? `${parent.name()} ${name}` : name
  const command = parent
    .command(name)
    .description(description)
    .exitOverride()
    .showHelpAfterError(`Try: archivebox-ts help ${path}`)
  if (examples.length > 0)
    command.addHelpText('after', `\nExamples:\n${examples.map((line) => `  ${line}`).join('\n')}`)
  return command as Verb
}

/** Takes one more value of an option that may be repeated. */
export function collect(value: string, all: string[]): string[] {
  return [...all, value]
}
