import { type Command, CommanderError } from 'commander'
import { legible } from '../base/clean.ts'
import { described, ENVIRONMENT, readSetting } from '../base/config.ts'
import { AppError, codeOf, EXIT, messageOf } from '../base/errors.ts'
import { VERSION } from '../base/version.ts'
import { EXIT_CODES } from './exit-codes.ts'
import { GLOBAL_OPTIONS } from './global-options.ts'
import type { GivenOptions } from './options.ts'
import { wrapped } from './screen/flow.ts'
import { type Asking, atTheDoor } from './settings.ts'
import { sayError, terminal } from './terminal.ts'
import { Verb } from './verb.ts'
import { isPage, verbAt } from './verb-at.ts'

const LEAVE_MS = 500
/** The width that commander itself uses without a terminal. */
const HELP_COLUMNS = 80

/** Parses a command line and runs its verb. The only place that turns errors into exit codes. */
export async function parse(root: Command, argv: readonly string[]): Promise<void> {
  try {
    await root.parseAsync(withVerb(argv))
  } catch (error) {
    if (error instanceof CommanderError) {
      // Help and version are not errors; commander has printed the line for the rest.
      process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage
    } else {
      const expected = error instanceof AppError ? error : unexpected(error)
      sayError(expected)
      process.exitCode = expected.exitCode
      // An abandoned connection attempt may still be running, and nothing waits for it any more.
      if (expected.exitCode === EXIT.interrupted) setTimeout(() => process.exit(), LEAVE_MS).unref()
    }
  }
}

/** A URL where a verb is expected stands for `add --run`. */
function withVerb(argv: readonly string[]): string[] {
  const at = verbAt(argv)
  if (!isPage(argv[at])) return [...argv]
  const end = argv.indexOf('--') // Behind it there are no options.
  return argv.toSpliced(end > 1 && end < at ? end : at, 0, 'add', '--run')
}

/** A defect, or trouble that was not foreseen: one line and where to look; the stack only with LOG_LEVEL=debug. */
function unexpected(error: unknown): AppError {
  if (readSetting('LOG_LEVEL', ENVIRONMENT) === 'debug' && error instanceof Error)
    terminal.say(legible(error.stack ?? ''))
  const full = ['ENOSPC', '53100'].includes(codeOf(error) ?? '')
  return new AppError(full ? `the disk is full: ${messageOf(error)}` : messageOf(error), {
    hint: full
      ? 'free some space and start again: nothing is lost'
      : 'nothing is lost; logs/runner.log in the data dir has more, and LOG_LEVEL=debug shows the stack',
    cause: error,
  })
}

/** The program without its verbs: the global options and the help. */
export function rootCommand(): Command {
  const root = new Verb('archivebox-ts')
  root
    .description('Archives web pages and never loses its place.')
    .version(VERSION)
    .exitOverride()
    .configureOutput({
      outputError: (text, write) => write(`${text.trim().replace(/\n\(Did you mean (.*\?)\)/, ': did you mean $1')}\n`),
    })
    .showHelpAfterError('Try: archivebox-ts help')
    .helpCommand(false)
    .enablePositionalOptions(false)
    .addHelpText(
      'after',
      () => `
Examples:
  archivebox-ts add --run https://example.com       archive one page now
  archivebox-ts add --depth 1 https://example.com   queue a page and the pages it links to
  archivebox-ts run                                 work on what is queued, until Ctrl-C
  archivebox-ts status                              who works on what

Exit codes:
${EXIT_CODES.flatMap(exitCodeLines).join('\n')}`,
    )
  for (const [flags, about] of GLOBAL_OPTIONS)
    root.option(flags, typeof about === 'string' ? about : described(about.sets))
  return root
}

function exitCodeLines([code, means]: (typeof EXIT_CODES)[number]): string[] {
  const lines = wrapped(means.replaceAll('`', ''), HELP_COLUMNS - 7)
  return lines.map((line, index) => `  ${index === 0 ? String(code).padEnd(5) : ' '.repeat(5)}${line}`)
}

export function askedBy(root: Command): Asking {
  return async (makes, tell) => await atTheDoor(root.opts<GivenOptions>(), makes, tell)
}
