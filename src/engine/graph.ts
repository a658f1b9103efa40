/** A number that a setting gives, in the setting's own unit. */
export interface Setting<Name extends string = string> {
  readonly setting: Name
  /** The default. */
  readonly standard: number
}

/** What any state may declare. */
interface AnyDef {
  /**
   * Columns that follow from being in the state: their values for a row that enters it, as SQL over the row (`work`).
   * For rows that are held by others.
   */
  readonly entering?: Readonly<Record<string, string>>
}

/** A state that rows leave again. */
interface LiveDef<S extends string> extends AnyDef {
  readonly final?: false
  /** Its edges: event -> next state. */
  readonly on: Readonly<Record<string, S>>
  /** How long after entering it a row is first due; default 0. */
  readonly startAfterMs?: number
  /** How long after `again()`, or a failure, the row is due again. */
  readonly retryAfterMs?: number
  /** How long one run of its handler may take; default: the runner's deadline. */
  readonly deadlineMs?: number
  /** Moves a row out of the state after this time, even if its handler keeps failing. */
  readonly timeout?: { readonly afterMs: number; readonly to: S }
  /**
   * Moves a row out of the state after this many claims in a row without a clean end: failures, deadlines, dead
   * workers. If work precedes that (`withHandlers`), after as many again at the latest. Needs `attempts`.
   */
  readonly giveUp?: { readonly after: number; readonly to: S }
  /**
   * For rows that are held by others, instead of these two: after how many seconds, and how often, their holder tries
   * again before they move on.
   */
  readonly again?: { readonly afterSeconds: Setting; readonly most: Setting; readonly to: S }
  /** Deletes a row after this time in the state. */
  readonly deleteAfterMs?: number
  /** Rows here are never claimed: only an event from outside moves them. */
  readonly external?: true
  readonly reopen?: never
}

/** A state that ends a row's life. */
interface FinalDef<S extends string> extends AnyDef {
  readonly final: true
  readonly on?: never
  /** Edges that begin a life anew: event -> next state. Neither a claim nor `send` offers them, only `moved`. */
  readonly reopen?: Readonly<Record<string, S>>
  readonly startAfterMs?: never
  readonly retryAfterMs?: never
  readonly deadlineMs?: never
  readonly timeout?: never
  readonly giveUp?: never
  readonly again?: never
  /** As above; 0: the outcome that leads here deletes the row instead of updating it. */
  readonly deleteAfterMs?: number
  readonly external?: never
}

export type StateDef<S extends string> = LiveDef<S> | FinalDef<S>

/**
 * The columns for state, schedule and claim. The first four are required, the others used when named. Rows that are
 * held by others need no schedule and no token.
 */
export interface Columns {
  readonly id: string
  readonly status: string
  readonly retryAt: string
  readonly token: string
  /** Who holds the claim (any text or uuid from the caller). */
  readonly owner?: string
  /** Claims in a row without a clean end. */
  readonly attempts?: string
  /** When the row entered its state; required for `timeout` and a `deleteAfterMs` above 0. */
  readonly changedAt?: string
  /** The token under which the row was last settled or moved; null after an event from outside or a timeout. */
  readonly movedBy?: string
  readonly modifiedAt?: string
}

/** The graph of one model: states in life order, and the table of its rows. */
export interface Machine {
  readonly name: string
  readonly table: string
  readonly idType: 'uuid' | 'bigint' | 'text'
  readonly columns: Columns
  /** The graph whose claims hold these rows, too: they have no claim of their own, and a `Queue` refuses them. */
  readonly heldBy?: string
  /** Seconds that a claim holds without renewal; it is renewed three times per lease. */
  readonly leaseSeconds: number
  /** Writes a row to `transition` at each change of state. */
  readonly history: boolean
  readonly initial: string
  readonly states: Readonly<Record<string, StateDef<string>>>
}
