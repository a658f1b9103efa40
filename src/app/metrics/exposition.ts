/** What a metric is, whatever its values. */
export interface About {
  readonly type: 'gauge' | 'counter'
  readonly help: string
  /** The names of its labels. */
  readonly labels?: readonly string[]
}

/** A value with the values of its labels, in their order. */
export type Labelled = readonly [...labels: string[], value: number]
/** The value of a metric without labels, or those of one that has some. Undefined or none: it is not there. */
export type Values = number | readonly Labelled[] | undefined

/** A metric in Prometheus' text format; '' without values. */
export function exposed(name: string, { type, help, labels = [] }: About, values: Values): string {
  const all: readonly Labelled[] = typeof values === 'number' ? [[values]] : (values ?? [])
  if (all.length === 0) return ''
  const lines = all.map((each) => {
    const pairs = labels.map((label, at) => `${label}="${labelText(String(each[at]))}"`)
    return `${name}${pairs.length > 0 ? `{${pairs.join()}}` : ''} ${each.at(-1)}\n`
  })
  return `# HELP ${name} ${helpText(help)}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

const helpText = (text: string) => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
const labelText = (text: string) => helpText(text).replaceAll('"', '\\"')
