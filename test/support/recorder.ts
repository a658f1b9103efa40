import pg from 'pg'

/** A statement as the program sent it. */
export interface Sent {
  readonly text: string
  readonly values: readonly unknown[]
  /** The test that sent it first. */
  readonly by: string
  /** The last statement before it, in the same transaction, that configured the planner; it has its own. */
  readonly planner: Sent | undefined
}

type Query = (...args: unknown[]) => unknown

/** Notes each different statement that connections of this name send, in the driver: none can bypass it. */
export class Recorder {
  /** The name of the present sender. */
  by = ''
  readonly #sent = new Map<string, Sent>()
  readonly #query = pg.Client.prototype.query as Query
  #planner: Sent | undefined

  constructor(applicationName: string) {
    const [query, note] = [this.#query, (text: string, values: readonly unknown[]) => this.#note(text, values)]
    const recording = function (this: pg.Client, ...args: unknown[]) {
      const { connectionParameters } = this as unknown as { connectionParameters: { application_name?: string } }
      const [given, values] = args as [string | pg.QueryConfig, unknown[] | undefined]
      if (connectionParameters.application_name === applicationName)
        note(typeof given === 'string' ? given : given.text, (typeof given === 'string' ? values : given.values) ?? [])
      return query.apply(this, args)
    }
    pg.Client.prototype.query = recording as unknown as typeof pg.Client.prototype.query
  }

  /** The statements that were sent, except those without a plan. */
  get statements(): Sent[] {
    return [...this.#sent.values()].filter(({ text }) => /^(with|select|insert|update|delete)\b/i.test(text))
  }

  stop(): void {
    pg.Client.prototype.query = this.#query as typeof pg.Client.prototype.query
  }

  #note(written: string, values: readonly unknown[]): void {
    const text = written.trim()
    const sent = { text, values, by: this.by, planner: this.#planner }
    if (/^(begin|start|commit|rollback)/i.test(text)) this.#planner = undefined
    else if (/set_config\((?:name|'enable_)/.test(text)) this.#planner = sent
    if (!this.#sent.has(text)) this.#sent.set(text, sent)
  }
}

/** A value as an untyped SQL literal. */
export function literalOf(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value))
    return pg.escapeLiteral(`{${value.map((one) => (one === null ? 'null' : JSON.stringify(textOf(one)))).join(',')}}`)
  return pg.escapeLiteral(textOf(value))
}

function textOf(value: unknown): string {
  if (Buffer.isBuffer(value)) return `\\x${value.toString('hex')}`
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
