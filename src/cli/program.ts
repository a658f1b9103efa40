import { Argument, type Command, Option } from 'commander'
import { VERSION } from '../base/version.ts'
import { PROCESS_STATUSES, PROCESS_TYPES, WORKER_TYPES } from '../db/tables.ts'
import { help } from './help.ts'
import { listOptions } from './records/list-options.ts'
import { registerRecordVerbs } from './records/register.ts'
import { askedBy, parse, rootCommand } from './root.ts'
import { registerTakingOut } from './take-out.ts'
import { verb } from './verb.ts'
import { registerAdd } from './verbs/add.ts'
import { registerConfig } from './verbs/config.ts'
import { registerDoctor } from './verbs/doctor.ts'
import { registerMachine } from './verbs/machine.ts'
import { registerNode } from './verbs/node.ts'
import { registerPersona } from './verbs/persona.ts'
import { registerPlugin } from './verbs/plugin.ts'
import { registerRun } from './verbs/run.ts'
import { registerSchedule } from './verbs/schedule.ts'
import { registerServer } from './verbs/server.ts'
import { registerService } from './verbs/service.ts'
import { registerTag } from './verbs/tag.ts'

/** Parses the command line and runs one verb. */
export async function program(argv: readonly string[]): Promise<void> {
  await parse(commandTree(), argv)
}

/** The verbs of the program. */
export function commandTree(): Command {
  const root = rootCommand()
  const asked = askedBy(root)
  const checked = async (makes: boolean) => {
    const options = await asked(makes)
    options.problems.refuse()
    return options
  }
  const globals = () => checked(false)

  verb(root, 'init', 'create a data dir', ['archivebox-ts init', 'archivebox-ts --data-dir archive init'])
    .option('--force', 'also in a directory that is not empty')
    .action(async (options: { force?: boolean }) =>
      (await import('./commands/init.ts')).init(await checked(true), options),
    )

  registerAdd(root, asked)

  registerRun(root, asked)

  registerServer(root)

  verb(root, 'status', 'who leads, what runs, what is queued, what failed', [
    'archivebox-ts status',
    'archivebox-ts status --json',
    'archivebox-ts status --prometheus',
  ])
    .option('--watch', 'keep it up to date, on the whole terminal; q quits')
    .option('--prometheus', 'as metrics for Prometheus; see docs/metrics.md')
    .action(async (options: object) => (await import('./commands/status.ts')).status(await globals(), options))

  registerRecordVerbs(root, globals, () => asked(false))
  registerTag(root, globals)
  registerSchedule(root, globals, () => asked(true))

  registerTakingOut(root, globals)

  const processes = verb(root, 'process', 'the processes of this data dir')
  const list = verb(processes, 'list', 'processes, newest first', [
    'archivebox-ts process list',
    'archivebox-ts process list --all --type hook',
    'archivebox-ts process list --all-nodes',
  ])
    .option('--all', 'also processes that have ended')
    .option('--all-nodes', 'what runs on every node of this database, as far as their last word tells')
    .addOption(new Option('--type <type>', 'only this process_type').choices(PROCESS_TYPES))
    .addOption(new Option('--worker-type <type>', 'only this worker_type').choices(WORKER_TYPES))
    .addOption(new Option('--status <status>', 'only this status').choices(PROCESS_STATUSES))
  listOptions(list).action(async (options: object) =>
    (await import('./commands/process.ts')).processList(await globals(), options),
  )
  verb(processes, 'tree', 'the tree of live processes', ['archivebox-ts process tree']).action(async () =>
    (await import('./commands/process.ts')).processTree(await globals()),
  )
  verb(processes, 'show', 'one process, its parents and its children', ['archivebox-ts process show 9c41d2e7'])
    .argument('<id-or-pid>')
    .action(async (which: string) => (await import('./commands/process-one.ts')).processShow(await globals(), which))
  verb(processes, 'logs', 'what a process printed', [
    'archivebox-ts process logs 9c41d2e7',
    'archivebox-ts process logs --stderr 9c41d2e7',
  ])
    .argument('<id-or-pid>')
    .option('-f, --follow', 'keep printing until it ends')
    .option('--stderr', 'what it printed to stderr')
    .action(async (which: string, options: object) =>
      (await import('./commands/process-one.ts')).processLogs(await globals(), which, options),
    )
  verb(processes, 'kill', 'end a process', ['archivebox-ts process kill 9c41d2e7'])
    .argument('<id-or-pid>')
    .option('--force', 'kill it at once, with everything it started')
    .action(async (which: string, options: object) =>
      (await import('./commands/process-one.ts')).processKill(await globals(), which, options),
    )

  const db = verb(root, 'db', 'the database')
  verb(db, 'url', 'print its URL, for psql and other programs', ['archivebox-ts db url']).action(async () =>
    (await import('./commands/db.ts')).dbUrl(await globals()),
  )
  verb(db, 'start', 'start the embedded server, and leave it running', ['archivebox-ts db start']).action(async () =>
    (await import('./commands/db.ts')).dbStart(await globals()),
  )
  verb(db, 'stop', 'stop the embedded server', ['archivebox-ts db stop'])
    .option('--force', 'even while others use it')
    .action(async (options: { force?: boolean }) => (await import('./commands/db.ts')).dbStop(await globals(), options))
  verb(db, 'status', 'whether it is up, its version and its size', ['archivebox-ts db status']).action(async () =>
    (await import('./commands/db.ts')).dbStatus(await globals()),
  )

  verb(db, 'migrate', 'bring its schema up to date; every command that needs the database does this, too', [
    'archivebox-ts db migrate --dry-run',
  ])
    .option('--dry-run', 'only list what is missing')
    .action(async (options: object) => (await import('./commands/db.ts')).dbMigrate(await globals(), options))
  verb(db, 'upgrade', 'upgrade the embedded database to the installed major version of PostgreSQL', [
    'archivebox-ts db upgrade',
  ])
    .option('--programs <dir>', 'the folder with the programs of its present version (default: found, or downloaded)')
    .action(async (options: object) => (await import('./commands/db.ts')).dbUpgrade(await globals(), options))

  verb(db, 'move', 'move all rows from the embedded server to a PostgreSQL of your own, and use that from then on', [
    'PGPASSWORD=secret archivebox-ts db move postgres://archive@db.example.org/archive',
  ])
    .argument('<database-url>', 'of an empty database; PGPASSWORD may have its password')
    .action(async (url: string) => (await import('./commands/db.ts')).dbMove(await globals(), url))

  registerService(root, globals)
  registerMachine(root, globals, () => asked(false))
  registerNode(root, globals)
  registerConfig(root, () => asked(false))
  registerDoctor(root, () => asked(false))
  registerPersona(root, () => asked(false))
  registerPlugin(root, () => asked(false))

  verb(root, 'completion', 'shell completion: print a script that completes verbs, options, ids, plugins, ...', [
    'source <(archivebox-ts completion bash)   # in ~/.bashrc; for zsh behind compinit in ~/.zshrc',
    'archivebox-ts completion fish >~/.config/fish/completions/archivebox-ts.fish',
  ])
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .action(async (shell: string) => (await import('./commands/completion.ts')).completion(shell))
  verb(root, 'help', 'show how to use a verb', ['archivebox-ts help add', 'archivebox-ts help crawl list'])
    .argument('[verb...]')
    .action((path: string[]) => help(root, path))
  verb(root, 'version', 'print the version', ['archivebox-ts version']).action(() => console.log(VERSION))
  return root
}
