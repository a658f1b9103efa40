/** A sample: its name, its labels, its value. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\["\\n])*)"(?:,|$)/

/** Reads Prometheus' text format as strictly as its specification has it. Throws at what is not in it. */
export function readExposition(text: string): Sample[] {
  if (!text.endsWith('\n')) throw new Error('the last line has no end')
  const types = new Map<string, string>()
  const helps = new Set<string>()
  const seen = new Set<string>()
  return text
    .slice(0, -1)
    .split('\n')
    .flatMap((line) => {
      const [, about, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? []
      if (about === 'HELP' && NAME.test(name) && !helps.has(name)) {
        helps.add(name)
        return []
      }
      if (about === 'TYPE' && helps.has(name) && !types.has(name) && /^(gauge|counter)$/.test(rest)) {
        types.set(name, rest)
        return []
      }
      const sample = sampleIn(line)
      const type = types.get(sample.name)
      if (type === undefined) throw new Error(`${sample.name} has no type`)
      if ((type === 'counter') !== sample.name.endsWith('_total')) throw new Error(`${sample.name} is a ${type}`)
      const key = JSON.stringify([sample.name, sample.labels])
      if (seen.has(key)) throw new Error(`twice: ${line}`)
      seen.add(key)
      return [sample]
    })
}

function sampleIn(line: string): Sample {
  const [, name = '', braces, number = ''] = /^([^\s{]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
  const value = Number(number)
  if (!NAME.test(name) || !Number.isFinite(value)) throw new Error(`no sample: ${line}`)
  const labels: Record<string, string> = {}
  for (let rest = braces ?? ''; rest !== ''; ) {
    const [pair, label = '', quoted = ''] = LABEL.exec(rest) ?? []
    if (pair === undefined) throw new Error(`no labels: ${line}`)
    labels[label] = quoted.replace(/\\(.)/g, (_found, escaped: string) => (escaped === 'n' ? '\n' : escaped))
    rest = rest.slice(pair.length)
  }
  return { name, labels, value }
}
