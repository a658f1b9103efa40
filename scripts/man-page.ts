// The manual page, from the same verbs, options and examples as --help: the build writes it to dist/archivebox-ts.1.
import type { Command } from 'commander'
import { EXIT_CODES } from '../src/cli/exit-codes.ts'
import { commandTree } from '../src/cli/program.ts'

/** Text as roff takes it literally: a hyphen that can be copied, no escapes, no requests. */
const plain = (text: string) =>
  text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll('`', '').replace(/^[.']/gm, '\\&$&')

const bold = (text: string) => `\\fB${plain(text)}\\fR`
const section = (title: string, ...lines: readonly string[]) => [`.SH ${title}`, ...lines]
/** A term, and below it what it means. */
const item = (term: string, means: string) => ['.TP', bold(term), plain(means)]

/** What a command's help says. */
interface Told {
  readonly path: string
  readonly usage: string
  readonly about: string
  readonly options: readonly (readonly [term: string, means: string])[]
  readonly examples: readonly string[]
}

function told(command: Command, path: string): Told {
  let help = ''
  command.configureOutput({ writeOut: (more) => (help += more) }).outputHelp()
  const words = command.createHelp()
  return {
    path,
    usage: words.commandUsage(command),
    about: words.commandDescription(command),
    options: words
      .visibleOptions(command)
      .map((option) => [words.optionTerm(option), words.optionDescription(option)] as const)
      .filter(([term]) => term !== '-h, --help'),
    examples: help.split('\nExamples:\n')[1]?.split('\n\n')[0]?.split('\n').filter(Boolean) ?? [],
  }
}

/** The verbs that do something, with the words that lead to each. */
function verbsOf(command: Command, path = ''): Told[] {
  return command.commands.flatMap((each) => {
    const here = `${path} ${each.name()}`.trim()
    return each.commands.length > 0 ? verbsOf(each, here) : [told(each, here)]
  })
}

const shown = (lines: readonly string[]) => [
  '.PP',
  '.nf',
  '.RS',
  ...lines.map((line) => plain(line.trim())),
  '.RE',
  '.fi',
]

const verbLines = ({ path, usage, about, options, examples }: Told) => [
  `.SS ${plain(path)}`,
  plain(`${about}.`),
  ...shown([usage]),
  ...options.flatMap(([term, means]) => item(term, means)),
  ...(examples.length > 0 ? shown(examples) : []),
]

/** The whole page. */
export function manPage(version: string): string {
  const tree = commandTree()
  const root = told(tree, '')
  return [
    `.TH ARCHIVEBOX\\-TS 1 "" "archivebox\\-ts ${plain(version)}" "User Commands"`,
    ...section('NAME', `archivebox\\-ts \\- ${plain(root.about.replace(/\.$/, '').replace(/^A/, 'a'))}`),
    ...section('SYNOPSIS', bold(root.usage), '.br', `${bold('archivebox-ts')} \\fIURL\\fR...`),
    ...section(
      'DESCRIPTION',
      plain('add queues URLs. run, of which exactly one works, turns each into plain files in the data dir.'),
      plain('PostgreSQL remembers; it comes along. A URL instead of a verb stands for add --run.'),
      ...shown(root.examples),
    ),
    ...section('OPTIONS', ...root.options.flatMap(([term, means]) => item(term, means))),
    ...section('COMMANDS', ...verbsOf(tree).flatMap(verbLines)),
    ...section('EXIT STATUS', ...EXIT_CODES.flatMap(([code, means]) => item(String(code), means))),
    ...section(
      'FILES',
      ...item('index.html', 'in the data dir: the archive, which opens without a server'),
      ...item('archivebox.toml', 'in the data dir: the settings; archivebox-ts config list shows all of them'),
    ),
    ...section('SEE ALSO', plain('docs in the folder of the package, README.md first')),
    '',
  ].join('\n')
}
