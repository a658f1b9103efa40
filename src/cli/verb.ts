import { Command, type Option } from 'commander'
import { UsageError } from '../base/errors.ts'

/**
 * A command whose action returns its exit code; nothing means 0. The only place that sets it, except for errors.
 * Refuses an option that is given twice, unless it collects its values.
 */
export class Verb extends Command {
  override createCommand(name?: string): Command {
    return new Verb(name)
  }

  override addOption(option: Option): this {
    // Called before commander's own listener, which replaces the value.
    if ((option.required || option.optional) && option.parseArg !== collect)
      this.on(`option:${option.name()}`, () => {
        if (this.getOptionValueSource(option.attributeName()) === 'cli') throw givenTwice(option)
      })
    return super.addOption(option)
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

function givenTwice({ long, short, flags, description }: Option): UsageError {
  return new UsageError(`${long ?? short} is given twice`, `give it once: ${flags}  ${description}`)
}

/** Takes one more value of an option that may be repeated. */
export function collect(value: string, all: string[]): string[] {
  return [...all, value]
}
