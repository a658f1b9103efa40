import type { Context, Hono } from 'hono'
import type { Session } from './access/sessions.ts'

/** What is known about a request that was let in. */
export interface Visit {
  readonly Variables: { readonly session: Session }
}
export type App = Hono<Visit>
export type Asked = Context<Visit>
