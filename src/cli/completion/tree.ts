import type { Argument, Command, Option } from 'commander'

/** The kind of word at a place without a fixed list: rows, plugins, settings, tags, files, verbs. */
export type Source = 'plugin' | 'persona' | 'setting' | 'tag' | 'file' | 'verb' | `${string}-id`

/** What an option or argument takes. */
export interface Taken {
  readonly of?: Source
  readonly choices?: readonly string[]
  /** Words besides those. */
  readonly more?: readonly string[]
  /** Several, comma-separated. */
  readonly list?: true
  /** A `=` and a value follow. */
  readonly assigns?: true
}

/** An option: its spellings, and what it takes; a flag takes nothing. */
export interface Flag {
  readonly names: readonly string[]
  readonly about: string
  readonly takes?: Taken
}

/** A verb, as far as completion needs it. */
export interface VerbTree {
  readonly name: string
  readonly about: string
  readonly verbs: readonly VerbTree[]
  readonly flags: readonly Flag[]
  readonly args: readonly Taken[]
  /** Whether the last argument may be repeated. */
  readonly endless: boolean
}

/** The verbs of the program with their options, as plain data: cached, since building it takes too long for a key. */
export function verbTree(command: Command): VerbTree {
  const group = command.name()
  return {
    name: group,
    about: command.description(),
    verbs: command.commands.map(verbTree),
    flags: command.options.filter(({ hidden }) => !hidden).map(flagOf),
    args: command.registeredArguments.map((argument) => argumentOf(argument, command)),
    endless: command.registeredArguments.at(-1)?.variadic === true,
  }
}

function flagOf({ long, short, description, required, optional, argChoices, flags }: Option): Flag {
  const names = [long, short].filter((name) => name !== undefined && name !== null)
  const value = (/[<[](.+?)[>\]]/.exec(flags)?.[1] ?? '').toLowerCase()
  const takes = { ...sourceOf(long?.replace(/^--/, '') ?? '', value), ...(argChoices && { choices: argChoices }) }
  return { names, about: description, ...((required || optional) && { takes }) }
}

function argumentOf(argument: Argument, command: Command): Taken {
  const [name, group] = [argument.name(), command.parent?.name() ?? '']
  if (argument.argChoices) return { choices: argument.argChoices }
  if (group === 'plugin' && command.name() === 'install') return { of: 'plugin', more: ['replay'] }
  if (name === 'id' || name === 'id-or-pid') return { of: `${group}-id` }
  if (name === 'name') return group === 'plugin' || group === 'tag' || group === 'persona' ? { of: group } : {}
  return sourceOf(name, name)
}

/** Goes by the names that options and arguments have everywhere. */
function sourceOf(name: string, value: string): Taken {
  const list = value.endsWith('names') ? ({ list: true } as const) : {}
  if (name.endsWith('-id')) return { of: name as Source }
  if (/^plugins?$/.test(name)) return { of: 'plugin', list: true }
  if (/^(tag|add|remove)$/.test(name)) return { of: 'tag', list: true }
  if (value === 'persona') return { of: 'persona' }
  if (value === 'key') return { of: 'setting' }
  if (value === 'key=value') return { of: 'setting', assigns: true }
  if (/^(file|dir|folder|path)$/.test(value)) return { of: 'file' }
  if (value === 'verb') return { of: 'verb' }
  return list
}
