/** A value within a line of a unit: a percent sign would begin a specifier. */
export function unitText(value: string): string {
  return value.replaceAll('%', '%%')
}

/** One word of a list or a command: quoted where it has to be, so that it stands for itself only. */
export function unitWord(word: string): string {
  const text = unitText(word)
  if (/^[\p{L}\p{N}_@%+=:,./-]+$/u.test(text)) return text
  const escaped = text.replaceAll(/["\\]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t')
  return `"${escaped}"`
}

/** A command of a unit. The colon keeps `$` from meaning anything. */
export function unitCommand(words: readonly string[]): string {
  return `:${words.map(unitWord).join(' ')}`
}
