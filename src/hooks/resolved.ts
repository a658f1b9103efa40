import type { Texts } from '../base/config.ts'
import { type Kind, list } from '../base/kinds.ts'
import { own, put } from '../base/own.ts'
import { type Declared, textOf } from './declared.ts'

/** `{NAME}` in a value stands for the setting of that name. */
const PLACEHOLDER = /\{([A-Z][A-Z0-9_]*)\}/g

export function hasPlaceholder(text: string): boolean {
  return text.search(PLACEHOLDER) >= 0
}

/** A list or an object, and no placeholder: an inserted value stays within its string, whatever quotes it has. */
const JSON_TEXT = /^\s*(\[|\{\s*["}])/

/** A list of words as JSON: a comma in an inserted value starts no new word. */
const asJson = (text: string) => (JSON_TEXT.test(text) ? text : JSON.stringify(list.read(text) ?? []))

/** The most placeholders within placeholders; more is a circle. */
const MAX_DEPTH = 8

/**
 * The texts that apply to a setting, the strongest first: its own name, its other names, then the same of the setting
 * that it falls back on. Defaults are not among them: a general default does not override a plugin's own.
 */
export function givenTexts(declares: readonly Declared[], name: string, texts: Texts): string[] {
  const given: string[] = []
  const seen = new Set<string>()
  for (let next: string | undefined = name; next !== undefined && !seen.has(next); ) {
    seen.add(next)
    const declared: Declared | undefined = declares.find((one) => one.name === next)
    for (const key of [next, ...(declared?.aliases ?? [])]) {
      const text = own(texts, key)
      if (text !== undefined) given.push(text)
    }
    next = declared?.fallback
  }
  return given
}

/** The value of a plugin's setting: the strongest valid text, its default included. */
export function readDeclared<T>(
  declares: readonly Declared[],
  name: string,
  texts: Texts,
  kind: Kind<T>,
): T | undefined {
  const standard = textOf(declares.find((declared) => declared.name === name)?.standard)
  for (const text of [...givenTexts(declares, name, texts), ...(standard === undefined ? [] : [standard])]) {
    const value = kind.read(text)
    if (value !== undefined) return value
  }
  return undefined
}

/**
 * The declared settings as a hook gets them, under their own names. An invalid text counts as not set.
 * @param known what else placeholders may name
 * @param withDefaults includes settings that nobody has set
 */
export function resolvedTexts(
  declares: readonly Declared[],
  texts: Texts,
  known: Texts,
  withDefaults: boolean,
): Record<string, string> {
  const raw: Record<string, string> = {}
  for (const { name, kind, standard } of declares) {
    const given = givenTexts(declares, name, texts).find((text) => text.trim() === '' || kind.read(text) !== undefined)
    const text = given ?? (withDefaults ? textOf(standard) : undefined)
    if (text !== undefined) put(raw, name, kind === list && hasPlaceholder(text) ? asJson(text) : text)
  }
  const all = { ...texts, ...raw, ...known }
  const fill = (text: string, depth = 0): string => {
    const isInJson = JSON_TEXT.test(text)
    return text.replace(PLACEHOLDER, (whole, name: string) => {
      const value = own(all, name)
      if (value === undefined || depth === MAX_DEPTH) return whole
      const filled = fill(value, depth + 1)
      return isInJson ? JSON.stringify(filled).slice(1, -1) : filled
    })
  }
  return Object.fromEntries(Object.entries(raw).map(([name, text]) => [name, fill(text)]))
}
