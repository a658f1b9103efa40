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
