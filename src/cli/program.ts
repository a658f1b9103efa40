import { Argument, Command, CommanderError, Option } from 'commander'
import { described, ENVIRONMENT, readSetting } from '../base/config.ts'
import { AppError, codeOf, EXIT, messageOf } from '../base/errors.ts'
import { VERSION } from '../base/version.ts'
import { PROCESS_STATUSES, PROCESS_TYPES, WORKER_TYPES } from '../db/tables.ts'
import { FORMATS } from '../importers/formats.ts'
import type { AddOptions } from './commands/add.ts'
import type { RunVerbOptions } from './commands/run.ts'
import { help } from './help.ts'
import type { GivenOptions } from './options.ts'
import { limitOptions, registerRecordVerbs } from './records/register.ts'
import { atTheDoor } from './settings.ts'
import { registerTakingOut } from './take-out.ts'
import { sayError } from './terminal.ts'
import { collect, verb } from './verb.ts'
import { registerConfig } from './verbs/config.ts'
import { registerDoctor } from './verbs/doctor.ts'
import { registerMachine } from './verbs/machine.ts'
import { registerPersona } from './verbs/persona.ts'
import { registerPlugin } from './verbs/plugin.ts'
import { registerSchedule } from './verbs/schedule.ts'
import { registerTag } from './verbs/tag.ts'

const LEAVE_MS = 500

/** Parses the command line and runs one verb. The only place that turns errors into exit codes. */
export async function program(argv: readonly string[]): Promise<void> {
  try {
    await commandTree().parseAsync(withVerb(argv))
  } catch (error) {
    if (error instanceof CommanderError) {
      // Help and version are not errors; commander has printed the line for the rest.
      process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage
    } else {
      const expected = error instanceof AppError ? error : unexpected(error)
      sayError(expected)
      process.exitCode = expected.exitCode
      // A connection that was given up may still be tried, and nobody waits for it any more.
      if (expected.exitCode === EXIT.interrupted) setTimeout(() => process.exit(), LEAVE_MS).unref()
    }
  }
}

/** A URL where a verb is expected stands for `add --run`. */
function withVerb(argv: readonly string[]): string[] {
  const at = argv.findIndex((word, index) => index > 1 && !word.startsWith('-') && !TAKES_VALUE.has(argv[index - 1]!))
  return /^https?:\/\/|^(?:[\w-]+\.)+\w/i.test(argv[at] ?? '') ? argv.toSpliced(at, 0, 'add', '--run') : [...argv]
}

/** Options before the verb that are followed by what they set. */
const TAKES_VALUE = new Set(['--data-dir', '--database-url', '--wait-db'])

/** A defect, or trouble nobody foresaw: one line and where to look, no stack unless asked for. */
function unexpected(error: unknown): AppError {
  if (readSetting('LOG_LEVEL', ENVIRONMENT) === 'debug' && error instanceof Error)
    process.stderr.write(`${error.stack}\n`)
  const full = ['ENOSPC', '53100'].includes(codeOf(error) ?? '')
  return new AppError(full ? `the disk is full: ${messageOf(error)}` : messageOf(error), {
    hint: full
      ? 'free some space and start again: nothing is lost'
      : 'nothing was thrown away; logs/runner.log in the data dir has more, LOG_LEVEL=debug shows the stack',
    cause: error,
  })
}

/** The verbs of the program. */
export function commandTree(): Command {
  const root = new Command('archivebox-ts')
  root
    .description('Archives web pages and never loses its place.')
    .version(VERSION)
    .option('--data-dir <dir>', described('DATA_DIR'))
    .option('--database-url <url>', described('DATABASE_URL'))
    .option('--wait-db <seconds>', described('WAIT_DB'))
    .option('--json', 'data as JSON on stdout')
    .option('--no-color', described('NO_COLOR'))
    .option('-q, --quiet', 'only warnings and errors')
    .option('-v, --verbose', 'everything')
    .exitOverride()
    .configureOutput({
      outputError: (text, write) => write(`${text.trim().replace(/\n\(Did you mean (.*\?)\)/, ': did you mean $1')}\n`),
    })
    .showHelpAfterError('Try: archivebox-ts help')
    .helpCommand(false)
    .enablePositionalOptions(false)
    .addHelpText(
      'after',
      `
Examples:
  archivebox-ts add --run https://example.com       archive one page now
  archivebox-ts add --depth 1 https://example.com   queue a page and the pages it links to
  archivebox-ts run                                 work on what is queued, until Ctrl-C
  archivebox-ts status                              who works on what

Exit codes: 0 fine, 1 failed (also: no database within --wait-db), 2 usage or configuration, 3 status: no live runner,
  10 add --run/--wait: finished, but some page failed: there is no copy of it,
  130 second Ctrl-C, or Ctrl-C while waiting for the database`,
    )
  const asked = (makes: boolean) => atTheDoor(root.opts<GivenOptions>(), makes)
  const checked = async (makes: boolean) => {
    const options = await asked(makes)
    options.problems.refuse()
    return options
  }
  const globals = () => checked(false)

  verb(root, 'init', 'make a data dir', ['archivebox-ts init', 'archivebox-ts --data-dir archive init'])
    .option('--force', 'also in a directory that is not empty')
    .action(async (options: { force?: boolean }) =>
      (await import('./commands/init.ts')).init(await checked(true), options),
    )

  limitOptions(
    verb(root, 'add', 'queue URLs', [
      'archivebox-ts add https://example.com',
      'archivebox-ts add --run --depth 1 --max-urls 50 https://example.com',
      'archivebox-ts add --tag news,daily --file bookmarks.html',
      'cat urls.txt | archivebox-ts add --dry-run',
    ]),
  )
    .argument('[url...]', 'http or https, which may be left out; none: from stdin')
    .option('--file <file>', 'read a list from a file: text, bookmarks, a feed, a browser history, ...; - is stdin')
    .addOption(
      new Option('--parser <format>', 'what the list is')
        .choices(['auto', ...FORMATS])
        .default('auto', 'found out from what is in it'),
    )
    .option('--from-archivebox <dir>', 'take over a collection of ArchiveBox 0.7 to 0.9, files included')
    .option('--again', 'also what is archived already, from its server even when unchanged')
    .option('--run', 'archive now: be the runner if there is none, and follow the crawl to its end')
    .option('--wait', 'follow the crawl to its end; somebody else runs it')
    .option('--index-only', 'list the pages without archiving them; crawl resume does that later')
    .option('--dry-run', 'only say what would be added')
    .option('--demo', 'a small site that this program serves on loopback for the purpose')
    .action(async (urls: string[], options: AddOptions) =>
      (await import('./commands/add.ts')).add(await asked(true), urls, options),
    )

  verb(root, 'run', 'be the runner: work on what is queued, until Ctrl-C', [
    'archivebox-ts run',
    'archivebox-ts run --exit-on-idle',
    'archivebox-ts run --crawl-id 9c41d2e7 --exit-on-idle',
    'archivebox-ts result list --status failed | archivebox-ts run -',
  ])
    .argument(
      '[-]',
      'read records (or URLs, or snapshot ids) from stdin, one a line: queue them, work on those, and leave',
    )
    .option('--exit-on-idle', 'leave when nothing is due, running or about to be')
    .option('--crawl-id <id>', 'work on this crawl only')
    .option('--standby', 'do not take over: wait until no other runner is left, then lead')
    .option('--handoff-grace <seconds>', 'how long an older runner may take to leave before it is killed', '10')
    .option('--snapshot-id <id>', 'work on this snapshot only')
    .option('--run-for <seconds>', 'drain after so long, and leave')
    .option('--concurrency <n>', 'so many pages at once, over all crawls')
    .addOption(
      new Option('--exclude <kind>', 'leave rows of this kind alone: crawl, snapshot, binary (repeatable)')
        .argParser(collect)
        .default([], 'none'),
    )
    .option('--liveness-file <file>', 'touch this file while all is well, remove it in the end')
    .option('--maintenance-only', 'end and requeue what earlier runners left behind, and leave')
    .option('--daemon', 'log lines only, never a live view')
    .action(async (input: string | undefined, options: RunVerbOptions) =>
      (await import('./commands/run.ts')).runVerb(await checked(true), options, input),
    )

  verb(root, 'status', 'who leads, what runs, what is queued, what failed', [
    'archivebox-ts status',
    'archivebox-ts status --json',
  ])
    .option('--watch', 'on the whole terminal, as it changes; q leaves')
    .action(async (options: object) => (await import('./commands/status.ts')).status(await globals(), options))

  registerRecordVerbs(root, globals, () => asked(false))
  registerTag(root, globals)
  registerSchedule(root, globals, () => asked(true))

  registerTakingOut(root, globals)

  const processes = verb(root, 'process', 'the processes of this data dir')
  verb(processes, 'list', 'processes, newest first', [
    'archivebox-ts process list',
    'archivebox-ts process list --all --type hook',
  ])
    .option('--all', 'also those that have ended')
    .addOption(new Option('--type <type>', 'only this process_type').choices(PROCESS_TYPES))
    .addOption(new Option('--worker-type <type>', 'only this worker_type').choices(WORKER_TYPES))
    .addOption(new Option('--status <status>', 'only this status').choices(PROCESS_STATUSES))
    .action(async (options: object) => (await import('./commands/process.ts')).processList(await globals(), options))
  verb(processes, 'tree', 'the live hierarchy', ['archivebox-ts process tree']).action(async () =>
    (await import('./commands/process.ts')).processTree(await globals()),
  )
  verb(processes, 'show', 'one process, and who belongs to it', ['archivebox-ts process show 9c41d2e7'])
    .argument('<id-or-pid>')
    .action(async (which: string) => (await import('./commands/process-one.ts')).processShow(await globals(), which))
  verb(processes, 'logs', 'what a process printed', [
    'archivebox-ts process logs 9c41d2e7',
    'archivebox-ts process logs --stderr 9c41d2e7',
  ])
    .argument('<id-or-pid>')
    .option('-f, --follow', 'and what it prints from now on, until it ends')
    .option('--stderr', 'what it printed to stderr')
    .action(async (which: string, options: object) =>
      (await import('./commands/process-one.ts')).processLogs(await globals(), which, options),
    )
  verb(processes, 'kill', 'end a process', ['archivebox-ts process kill 9c41d2e7'])
    .argument('<id-or-pid>')
    .option('--force', 'now, with all that it started')
    .action(async (which: string, options: object) =>
      (await import('./commands/process-one.ts')).processKill(await globals(), which, options),
    )

  const db = verb(root, 'db', 'the database')
  verb(db, 'url', 'its URL, for psql and the like', ['archivebox-ts db url']).action(async () =>
    (await import('./commands/db.ts')).dbUrl(await globals()),
  )
  verb(db, 'start', 'start the embedded server, and leave it running', ['archivebox-ts db start']).action(async () =>
    (await import('./commands/db.ts')).dbStart(await globals()),
  )
  verb(db, 'stop', 'stop the embedded server', ['archivebox-ts db stop'])
    .option('--force', 'also while others use it')
    .action(async (options: { force?: boolean }) => (await import('./commands/db.ts')).dbStop(await globals(), options))
  verb(db, 'status', 'is it up, which version, how large', ['archivebox-ts db status']).action(async () =>
    (await import('./commands/db.ts')).dbStatus(await globals()),
  )

  verb(db, 'migrate', 'bring its schema up to date, as any command does that needs it', [
    'archivebox-ts db migrate --dry-run',
  ])
    .option('--dry-run', 'only say what is missing')
    .action(async (options: object) => (await import('./commands/db.ts')).dbMigrate(await globals(), options))
  verb(db, 'upgrade', 'move the embedded database to the major version of PostgreSQL that is installed', [
    'archivebox-ts db upgrade',
  ])
    .option('--programs <dir>', 'where the programs of its present version are; else they are found, or fetched')
    .action(async (options: object) => (await import('./commands/db.ts')).dbUpgrade(await globals(), options))

  registerMachine(root, globals)
  registerConfig(root, () => asked(false))
  registerDoctor(root, () => asked(false))
  registerPersona(root, () => asked(false))
  registerPlugin(root, () => asked(false))

  verb(root, 'completion', 'words to press Tab for: what a shell reads to know the verbs, options, ids, plugins, ...', [
    'source <(archivebox-ts completion bash)   # in ~/.bashrc; for zsh behind compinit in ~/.zshrc',
    'archivebox-ts completion fish >~/.config/fish/completions/archivebox-ts.fish',
  ])
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .action(async (shell: string) => (await import('./commands/completion.ts')).completion(shell))
  verb(root, 'help', 'how to use a verb', ['archivebox-ts help add', 'archivebox-ts help crawl list'])
    .argument('[verb...]')
    .action((path: string[]) => help(root, path))
  verb(root, 'version', 'the version of this program', ['archivebox-ts version']).action(() => console.log(VERSION))
  return root
}
