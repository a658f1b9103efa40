import type { Flag, Source, Taken, VerbTree } from './tree.ts'

/** A word that could stand there, and what it is. */
export interface Word {
  readonly word: string
  readonly about: string
}

/** The completions at the end of a command line: these words, or files. */
export interface Completion {
  readonly files: boolean
  readonly words: readonly Word[]
}

/** Looks up words that are not in the tree. @param begun what is typed of the word so far */
export type LookUp = (source: Exclude<Source, 'file' | 'verb'>, begun: string, typed: Typed) => Promise<Word[]>

/** Options that were typed before and say where to look. */
export type Typed = ReadonlyMap<string, string>

/** Completes the last of `words`, which come after the name of the program. */
export async function complete(root: VerbTree, words: readonly string[], lookUp: LookUp): Promise<Completion> {
  const current = words.at(-1) ?? ''
  const { path, flag, count, typed } = readUpTo(root, words.slice(0, -1))
  const verb = path.at(-1)!
  const known = path.toReversed().flatMap(({ flags }) => flags)
  const take = async (taken: Taken, text: string) => await taking(root, taken, text, typed, lookUp, words)
  if (flag) return await take(flag.takes ?? {}, current)
  const [, name, value] = /^(--[\w-]+)=(.*)$/s.exec(current) ?? []
  if (name !== undefined && value !== undefined) {
    const { files, words: found } = await take(flagNamed(known, name)?.takes ?? {}, value)
    return { files, words: found.map(({ word, about }) => ({ word: `${name}=${word}`, about })) }
  }
  if (current.startsWith('-') && current !== '-')
    return { files: false, words: known.flatMap((each) => spelled(each, current)) }
  const place = verb.args[count] ?? (verb.endless ? verb.args.at(-1) : undefined)
  const verbs = count === 0 ? begun(verbsOf(verb), current) : []
  const there = place ? await take(place, current) : { files: false, words: [] }
  return { files: there.files, words: [...verbs, ...there.words] }
}

/** Where the words lead: to which verb, to an option that waits for its value, after how many arguments. */
function readUpTo(root: VerbTree, words: readonly string[]) {
  const path = [root]
  const typed = new Map<string, string>()
  let count = 0
  let flag: Flag | undefined
  for (const word of words) {
    if (flag) {
      typed.set(flag.names[0]!, word)
      flag = undefined
      continue
    }
    const [, name = word, value] = /^(--[\w-]+)=(.*)$/s.exec(word) ?? []
    const found = path.toReversed().flatMap(({ flags }) => flags.filter(({ names }) => names.includes(name)))[0]
    if (value !== undefined && found) typed.set(found.names[0]!, value)
    else if (word.startsWith('-') && word !== '-') flag = found?.takes ? found : undefined
    else {
      const next = count === 0 ? path.at(-1)!.verbs.find((verb) => verb.name === word) : undefined
      if (next) path.push(next)
      else count += 1
    }
  }
  return { path, flag, count, typed: typed as Typed }
}

async function taking(
  root: VerbTree,
  taken: Taken,
  text: string,
  typed: Typed,
  lookUp: LookUp,
  words: readonly string[],
): Promise<Completion> {
  if (taken.of === 'file') return { files: true, words: [] }
  const comma = taken.list ? text.lastIndexOf(',') + 1 : 0
  const [before, rest] = [text.slice(0, comma), text.slice(comma)]
  const chosen = before.split(',')
  const found = await wordsFor(root, taken, rest, typed, lookUp, words)
  const left = begun(found, rest).filter(({ word }) => !chosen.includes(word))
  return { files: false, words: left.map(({ word, about }) => ({ word: before + word, about })) }
}

async function wordsFor(
  root: VerbTree,
  { of, choices, more = [], assigns }: Taken,
  text: string,
  typed: Typed,
  lookUp: LookUp,
  words: readonly string[],
): Promise<Word[]> {
  if (choices) return choices.map((word) => ({ word, about: '' }))
  if (of === 'verb') {
    // help VERB VERB: completed as without the help.
    let verb: VerbTree | undefined = root
    for (const word of words.slice(1, -1)) verb = verb?.verbs.find(({ name }) => name === word)
    return verb ? verbsOf(verb) : []
  }
  const known = of === undefined || of === 'file' ? [] : await lookUp(of, text, typed)
  const found = [...known, ...more.map((word) => ({ word, about: '' }))]
  return assigns && !text.includes('=') ? found.map(({ word, about }) => ({ word: `${word}=`, about })) : found
}

const verbsOf = ({ verbs }: VerbTree): Word[] => verbs.map(({ name, about }) => ({ word: name, about }))

const begun = (words: readonly Word[], text: string) => words.filter(({ word }) => word.startsWith(text))

/** The spelling of an option that is offered: the long one, unless the short one is being typed. */
function spelled({ names, about }: Flag, text: string): Word[] {
  const word = names.find((name) => name.startsWith(text))
  return word === undefined ? [] : [{ word, about }]
}

function flagNamed(flags: readonly Flag[], name: string): Flag | undefined {
  return flags.find(({ names }) => names.includes(name))
}
