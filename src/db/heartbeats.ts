// The times by which runners tell who is there. They depend on each other: a runner stops trusting its lead before
// anybody may take it for dead.

/** How often a runner says that it is there. */
export const BEAT_MS = 5_000

/**
 * How long a leader trusts its lead without an answer from the database, counted on the monotonic clock from before the
 * question. One that was silent for longer has let go of everything, or will when it wakes up.
 */
export const TRUST_MS = 25_000

/**
 * A process that cannot be seen from here counts as there while its heartbeat is this fresh, by the database's clock.
 */
export const UNSEEN_SECONDS = 30
