import pg from 'pg'
import { literalOf, type Sent } from './recorder.ts'

/** A node of a plan, as EXPLAIN describes it. */
export interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly Filter?: string
  readonly Plans?: readonly Plan[]
}

/** Keeps statements prepared on one connection, with their plans. */
export class PreparedStatements {
  readonly #client: pg.Client
  readonly #names = new Map<Sent, string>()

  private constructor(client: pg.Client) {
    this.#client = client
  }

  /** @param mode a value of `plan_cache_mode` */
  static async open(url: string, mode: 'force_generic_plan' | 'force_custom_plan'): Promise<PreparedStatements> {
    const client = new pg.Client({ connectionString: url, application_name: 'plans' })
    await client.connect()
    await client.query(`set plan_cache_mode = ${mode}`)
    return new PreparedStatements(client)
  }

  /** Prepares a statement unless that has been done, and reads its cached plan. */
  async plan(sent: Sent): Promise<Plan> {
    const known = this.#names.get(sent)
    const name = known ?? `s${this.#names.size}`
    const { text, values, planner } = sent
    await this.#client.query('begin')
    const told: Sent[] = []
    for (let one = planner; one; one = one.planner) told.unshift(one)
    for (const one of told) await this.#client.query(one.text, [...one.values])
    if (!known) await this.#client.query(`prepare ${name} as ${text}`)
    this.#names.set(sent, name)
    const given = values.length > 0 ? `(${values.map(literalOf).join(', ')})` : ''
    const { rows } = await this.#client.query<{ 'QUERY PLAN': readonly { Plan: Plan }[] }>(
      `explain (format json) execute ${name}${given}`,
    )
    await this.#client.query('rollback')
    return rows[0]!['QUERY PLAN'][0]!.Plan
  }

  /** From now on each statement is planned again. */
  async forget(): Promise<void> {
    await this.#client.query('discard plans')
  }

  async close(): Promise<void> {
    await this.#client.end()
  }
}

/**
 * The whole tables that a plan reads: by scanning them, or an index without a condition. It may read a partial index
 * from end to end, and any index for the first few rows in its order.
 */
export function wholeReads(plan: Plan, large: ReadonlySet<string>, partial: ReadonlySet<string>): string[] {
  const found: string[] = []
  const visit = (node: Plan, limited: boolean, table: string | undefined) => {
    const of = node['Relation Name'] ?? table
    const [type, index] = [node['Node Type'], node['Index Name']]
    const walks = index !== undefined && node['Index Cond'] === undefined && !partial.has(index)
    if (of !== undefined && large.has(of)) {
      if (type === 'Seq Scan') found.push(`${type} on ${of}`)
      else if (walks && !(limited && node.Filter === undefined)) found.push(`all of ${index}`)
    }
    for (const part of node.Plans ?? []) visit(part, type === 'Limit' || (limited && passes(type)), of)
  }
  visit(plan, false, undefined)
  return found
}

/** Passes rows on as they come, so that a limit above it applies below it. */
const passes = (type: string) =>
  ['Nested Loop', 'Subquery Scan', 'Append', 'Merge Append', 'Result', 'LockRows'].includes(type)
