/** A statement with numbered parameters ($1, $2, ...). The name lets a driver prepare it once per connection. */
export interface Statement {
  readonly name: string
  readonly text: string
}

/** How the engine reaches PostgreSQL: anything that runs a statement. All statements of the engine return rows. */
export interface Sql {
  query<Row>(statement: Statement, values: readonly unknown[]): Promise<Row[]>
}

/** A client or pool of the npm package `pg`. */
interface PgQueryable {
  query(config: { name?: string; text: string; values: unknown[] }): Promise<{ rows: unknown[] }>
}

/** An `Sql` on a pool or client of `pg`. Statements are prepared by name, unless a pooler in between forbids that. */
export function pgSql(client: PgQueryable, options: { readonly prepare?: boolean } = {}): Sql {
  const prepare = options.prepare ?? true
  return {
    query: async <Row>({ name, text }: Statement, values: readonly unknown[]) =>
      (await client.query({ ...(prepare ? { name } : {}), text, values: [...values] })).rows as Row[],
  }
}

/**
 * SQL text that the engine does not know completely: unknown parts (a value, or a part of a query builder) stay in
 * between unchanged. Without them, it is plain text.
 */
export type Text<X = never> = string | X | readonly (string | X)[]

/** SQL text of parts. */
export function text<X = never>(strings: TemplateStringsArray, ...parts: readonly Text<X>[]): (string | X)[] {
  return strings.flatMap((string, index) => (index === 0 ? [string] : [...partsOf(parts[index - 1]!), string]))
}

/** Texts with a separator between them. */
export const joined = <X>(texts: readonly Text<X>[], between: string): (string | X)[] =>
  texts.flatMap((one, index) => (index === 0 ? partsOf(one) : [between, ...partsOf(one)]))

const partsOf = <X>(part: Text<X>): readonly (string | X)[] => (Array.isArray(part) ? part : [part as string | X])
